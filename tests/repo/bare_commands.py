"""Runs commands and code in an environment without extras, each in a fork of this process; no test.

Reads a list of `[kind, text]` as JSON, where the kind is `command` or `code`; prints a list of
`[exit code, output, errors]`. What many of them need, and no extra brings, is loaded before.
"""

import gc
import json
import os
import shlex
import signal
import sys
import tempfile
import traceback
from contextlib import ExitStack, suppress
from importlib import import_module
from importlib.util import find_spec

from thalweg.cli import main

SHARED = (
    "langchain.agents",
    "langchain_core.language_models",
    "thalweg.cli.app",
    "thalweg_memory.cli.commands",
    "thalweg_evals",
    "thalweg_recorder.replay.fleet",
    "thalweg_memory.handle",
    "thalweg_server.models",
    "thalweg_server.settings",
)


def run(kind: str, text: str) -> int:
    """Run one in this process; returns the exit code."""
    try:
        if kind == "code":
            exec(text, {"__name__": "__main__"})  # noqa: S102 (its traceback is what is read)
        else:
            sys.argv = ["thalweg", *shlex.split(text)]
            main()
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:  # noqa: BLE001 (as Python ends)
        traceback.print_exc()
        return 1
    return 0


def ended(kind: str, text: str) -> tuple[int, str, str]:
    """Run one in a fork, with an input and outputs of its own."""
    with ExitStack() as stack:
        given, out, err = (stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3))
        given.write("hi")
        given.seek(0)
        if (child := os.fork()) == 0:
            os.setsid()
            signal.alarm(int(os.environ.get("BARE_SECONDS", "0")))  # 0 sets none
            for number, file in enumerate((given, out, err)):
                os.dup2(file.fileno(), number)
            code = run(kind, text)
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:  # `thalweg record mcp` closes them
                    stream.flush()
            os._exit(code)  # to take all modules down again would take longest
        _, status = os.waitpid(child, 0)
        with suppress(ProcessLookupError):  # of processes that it started
            os.killpg(child, signal.SIGKILL)
        for file in (out, err):
            file.seek(0)
        return os.waitstatus_to_exitcode(status), out.read(), err.read()


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    for module in SHARED:
        if find_spec(module.partition(".")[0]):
            import_module(module)
    gc.freeze()
    json.dump([ended(*one) for one in asked], sys.stdout)
