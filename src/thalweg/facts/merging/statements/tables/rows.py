"""Tables as text: one entry a line, with longer ones continued on lines that are indented."""

from collections.abc import Iterator


def rows(table: str) -> Iterator[str]:
    r"""Give the entries of a table; a line that ends with a bar goes on without a space.

    Example:
        >>> list(rows("a | b\n  | c\nd (e|\n  f)"))
        ['a | b | c', 'd (e|f)']
    """
    entry = ""
    for line in table.strip("\n").splitlines():
        if not line.startswith(" "):
            if entry:
                yield entry
            entry = line
        else:
            entry += line.strip() if entry.endswith("|") else f" {line.strip()}"
    if entry:
        yield entry
