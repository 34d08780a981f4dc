"""How much may come in, and what turning it into text may cost."""

from pydantic import Field, PositiveFloat, PositiveInt

from thalweg.engine.sections import SettingsSection

_MIB = 1 << 20


class UploadPolicy(SettingsSection):
    """What uploads of one thread may be."""

    max_file_bytes: PositiveInt = 20 * _MIB
    """Bytes of one file."""
    max_files: PositiveInt = 100
    """Files of one thread that were sent and not deleted."""
    max_thread_bytes: PositiveInt = 500 * _MIB
    """Bytes of all files of one thread, the agent's own among them."""
    allowed: tuple[str, ...] = ()
    """Allowed endings (`pdf`, `md`); all supported ones by default."""
    max_expanded_bytes: PositiveInt = 256 * _MIB
    """Bytes that an archive, or an Office file, may unpack to."""
    max_expansion: PositiveInt = 200
    """Maximum ratio of unpacked to packed size, above a mebibyte."""
    max_entries: PositiveInt = 10_000
    """Files inside of one archive."""
    convert: bool = True
    """Whether the text of documents is extracted to a file next to them."""
    convert_timeout_s: PositiveFloat = 60.0
    """Seconds after which a conversion is killed."""
    convert_memory_bytes: int = Field(default=1_024 * _MIB, ge=256 * _MIB)
    """Memory of a conversion in addition to the library's own, if the platform can limit it."""
    max_text_bytes: PositiveInt = 10 * _MIB
    """Maximum bytes of text of one document; a longer text is truncated with a note."""
    conversions: PositiveInt = 2
    """How many run at once in a process; others wait."""
