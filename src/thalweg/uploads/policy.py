"""How much may come in, and what turning it into text may cost."""

from pydantic import Field, PositiveFloat, PositiveInt

from thalweg.sections import Section

_MIB = 1 << 20


class UploadPolicy(Section):
    """What uploads of one thread may be."""

    max_file_bytes: PositiveInt = 20 * _MIB
    """Bytes of one file."""
    max_files: PositiveInt = 100
    """Files of one thread that were sent and not deleted."""
    max_thread_bytes: PositiveInt = 500 * _MIB
    """Bytes of all files of one thread, the agent's own among them."""
    allowed: tuple[str, ...] = ()
    """Endings that may come in (`pdf`, `md`); all that are known, where none is named."""
    max_expanded_bytes: PositiveInt = 256 * _MIB
    """Bytes that an archive, or an Office file, may unpack to."""
    max_expansion: PositiveInt = 200
    """How many times larger than packed what is unpacked may be, above a mebibyte."""
    max_entries: PositiveInt = 10_000
    """Files inside of one archive."""
    convert: bool = True
    """Whether documents are turned into text beside them."""
    convert_timeout_s: PositiveFloat = 60.0
    """Seconds after which a conversion is killed."""
    convert_memory_bytes: int = Field(default=1_024 * _MIB, ge=256 * _MIB)
    """Memory that a conversion may take beyond the library itself, where the platform can say."""
    max_text_bytes: PositiveInt = 10 * _MIB
    """Bytes of text kept of one document; the rest is cut off, which is said."""
    conversions: PositiveInt = 2
    """How many run at once in a process; others wait."""
