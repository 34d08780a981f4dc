"""Import a log into an archive, and print when it is open.

Run it as `python -m recorder_tests.e2e.import_killed`.

Its arguments are the log, the archive and, where the disk is to be full, the most bytes of a file.
"""

import resource
import signal
import sys
from pathlib import Path

from thalweg.archive import open_archive
from thalweg_recorder import import_sessions


def main(log: str, place: str, *most_bytes: str) -> None:
    """Import it and print how many messages are new."""
    if most_bytes:
        most = int(most_bytes[0])
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    archive = open_archive(Path(place))
    sys.stdout.write("open\n")
    sys.stdout.flush()
    (imported,) = import_sessions(archive, [Path(log)])
    sys.stdout.write(f"{imported.new}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
