"""Commands that a sandbox runs for its host."""

import json
from base64 import b64encode
from functools import lru_cache
from importlib.resources import files
from typing import Final
from zlib import compress

from thalweg_agent.backends.searches.globs import compile_grep_include_glob

_START: Final = (
    # A file of the project must not shadow a module of Python's standard library.
    "import sys;sys.path[:]=[p for p in sys.path if p];"
    "import base64,zlib;"
    'g={"__name__":"inside"};'
    "exec(zlib.decompress(base64.b64decode(sys.argv[1])),g);"
    'g["main"](sys.argv[2:])'
)


def errand(python: str, task: str, *arguments: str) -> str:
    r"""Write the command that does a task of `script.py`.

    Nothing in it needs quoting but its fixed beginning: the program and its arguments are
    base64.

    Example:
        >>> errand("python3", "ls", "/o'clock\n").rsplit(maxsplit=3)[1:]
        ['ls', '.L28nY2xvY2sK', '2>&1']
    """
    coded = [f".{_coded(argument)}" for argument in arguments]
    start = f"PYTHONPATH= {python} -c '{_START}'"
    return " ".join((start, _program(), task, *coded, "2>&1"))


def included(glob: str) -> str:
    """Return regular expressions for a glob, for a process without a glob library.

    Raises:
        InvalidGlobPatternError: See `compile_grep_include_glob`.
    """
    compile_grep_include_glob(glob)
    # Slow to import, and most agents never search.
    from wcmatch import glob as wcmatch  # noqa: PLC0415

    regexes, _ = wcmatch.translate(glob.lstrip("/"), flags=wcmatch.BRACE | wcmatch.GLOBSTAR)
    return json.dumps(["/" not in glob, *regexes])


def _coded(text: str) -> str:
    # A model may search for half a character; nothing holds it, and nothing breaks on it.
    return b64encode(text.encode("utf-8", "surrogatepass")).decode()


@lru_cache(maxsize=1)
def _program() -> str:
    source = (files("thalweg_agent.backends.remote") / "script.py").read_bytes()
    return b64encode(compress(source, 9)).decode()
