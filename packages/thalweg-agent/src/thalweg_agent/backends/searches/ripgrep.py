"""Search for the files that contain a text with ripgrep, if it is installed.

It only narrows a search down: its files are read and searched as without it, so that the result is
the same.
"""

import os
import shutil
import subprocess
from functools import cache


@cache
def _ripgrep() -> str | None:
    return shutil.which("rg")


def files_with(text: str, folder: str, *, timeout_s: float) -> list[str] | None:
    """Return the files below a folder that contain a text, a folder's own before deeper ones.

    Args:
        text: What to search for, literally.
        folder: A real path.
        timeout_s: Seconds until a timeout.

    Returns:
        Paths relative to the folder; `None` if unknown: no ripgrep, a timeout, or an unreadable
        file.
    """
    program = _ripgrep()
    if program is None or not text or not text.isprintable():
        return None
    options = ("--files-with-matches", "--null", "--fixed-strings", "--text", "--encoding=none")
    everything = ("--no-config", "--no-ignore", "--hidden")
    try:
        done = subprocess.run(  # noqa: S603  # the text is an argument, after `--`
            [program, *options, *everything, "--", text, "."],
            cwd=folder,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    if done.returncode not in {0, 1}:
        return None
    found = (os.fsdecode(name).removeprefix("./") for name in done.stdout.split(b"\0") if name)
    return sorted(found, key=_in_order)


def _in_order(path: str) -> list[tuple[bool, str]]:
    *folders, name = path.split("/")
    return [*((True, folder) for folder in folders), (False, name)]
