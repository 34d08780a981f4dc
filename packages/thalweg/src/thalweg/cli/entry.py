"""The entry point: streams that take any text, and the end of a command that failed."""

import os
import sys
from typing import TextIO

from thalweg.errors import ThalwegError

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def main() -> None:
    """Run a command; an error is one sentence on stderr and exit code 2."""
    sys.stdout, sys.stderr = _accept_any_text(sys.stdout), _accept_any_text(sys.stderr)
    try:
        # A Ctrl-C may come while this loads.
        from thalweg.cli.app import run  # noqa: PLC0415

        try:
            exit_code = run(sys.argv[1:])
        finally:
            if not sys.stdout.closed:  # a server over standard streams closes them
                sys.stdout.flush()  # so that a full disk is reported
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        sys.stdout = None
        raise SystemExit(1) from None
    except ThalwegError as error:
        _exit_with_error(str(error))
    except ModuleNotFoundError as error:
        from thalweg.engine.extras import missing_extra  # noqa: PLC0415 (seldom needed)

        if (missing := missing_extra(error)) is None:
            raise
        _exit_with_error(str(missing))
    except OSError as error:
        path_prefix = f"{error.filename}: " if error.filename else ""
        _exit_with_error(
            f"{path_prefix}{(error.strerror or str(error)).lower()}; check the place and the disk"
        )
    else:
        raise SystemExit(exit_code)


def _accept_any_text(stream: TextIO | None) -> TextIO:
    """Let a stream write what its encoding lacks as escapes; a closed one takes it in silence."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 (of `os`)
    if reconfigure := getattr(stream, "reconfigure", None):
        reconfigure(errors="backslashreplace")
    return stream


def _exit_with_error(sentence: str) -> None:
    from thalweg.cli.printing import print_note  # noqa: PLC0415 (a Ctrl-C may come while it loads)

    print_note(f"thalweg: {sentence}")
    # What a full disk did not take would be written again, and fail again, on the way out.
    sys.stdout = None
    raise SystemExit(2) from None
