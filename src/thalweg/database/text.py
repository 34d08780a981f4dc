"""Text as tables hold it: any `str` is bytes there, for PostgreSQL takes no NUL character."""


def encode(text: str) -> bytes:
    """Write any `str`, NUL characters and lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """Read what `encode` wrote."""
    return data.decode("utf-8", "surrogatepass")
