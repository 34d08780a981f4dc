"""The process that converts a document to text: run as a file, never imported.

It reads a document from its input and writes Markdown to its output. It imports nothing of Thalweg
and has minimal rights: no environment, and no limits above those in its arguments. Arguments: media
type, seconds, bytes of memory (0: as much as there is), bytes of text.

Exit codes: 0 text, 3 the document cannot be read (the output says why).
"""

import sys

_LARGEST_FILE = 64 << 20
"""Bytes: the library unpacks its reader of PDF into the folder of the conversion."""


def _limit(seconds: float, memory: int) -> None:
    """Set limits with which the system ends this process, even if its parent has crashed."""
    try:
        import resource  # noqa: PLC0415 (not on Windows)
        import signal  # noqa: PLC0415 (the same)
    except ImportError:  # Windows: whoever waits for us ends us
        return
    # By the clock, and without Python: a signal whose handler is the system's kills native code.
    signal.setitimer(signal.ITIMER_REAL, seconds)
    whole = int(seconds) + 1
    limits = [(resource.RLIMIT_CPU, whole), (resource.RLIMIT_CORE, 0)]
    limits.append((resource.RLIMIT_FSIZE, _LARGEST_FILE))
    if memory and sys.platform.startswith("linux"):
        limits.append((resource.RLIMIT_AS, _taken() + memory))
    for kind, most in limits:
        _, hard = resource.getrlimit(kind)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bound, bound))


def _taken() -> int:
    """Bytes of addresses in use, the library's own among them."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 (starts at once)
        return int(file.read().split()[0]) * 4096


def main() -> int:
    """Convert one document."""
    media_type, seconds, memory, most = sys.argv[1:5]
    # Before the limits: its own size is not the document's.
    from kreuzberg import ExtractionConfig, KreuzbergError, extract_bytes_sync  # noqa: PLC0415 (as said)

    document = sys.stdin.buffer.read()
    _limit(float(seconds), int(memory))
    # No cache: it would store documents of one owner in a folder that all share.
    config = ExtractionConfig(  # type: ignore[call-arg]  # its stub knows no `disable_ocr`
        use_cache=False,
        output_format="markdown",
        disable_ocr=True,
    )
    try:
        text = extract_bytes_sync(document, media_type, config=config).content
    except (KreuzbergError, ValueError, OSError, RuntimeError) as problem:
        sys.stdout.write(str(problem)[:300])
        return 3
    sys.stdout.buffer.write(text.encode("utf-8", "replace")[: int(most)])
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
