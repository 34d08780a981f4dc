"""The process that runs a model: started by `process.py`, and gone when its parent is.

llama.cpp's own server runs in it, on a port that the system chooses. It is not run in the process
that asks: while it loads a model nothing else of Python would run there, a request under way when
it is taken down would hang that process or crash it, and so would a failed assertion.

It is told what to run by one line of JSON, answers with one, and then waits for the end of its
input, which comes when the parent closes it or dies, however it dies.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """Read what to run, run it, and stay until nobody wants it any more."""
    said = json.loads(sys.stdin.readline())
    # Read by OpenMP when it is loaded: waiting threads would otherwise keep their cores busy.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    xllamacpp: Any = import_module("xllamacpp")

    try:
        server = xllamacpp.Server(_params(xllamacpp, said))
    except RuntimeError as error:
        _tell({"problem": str(error)})
        return
    _tell({"address": server.listening_address})
    while sys.stdin.readline():
        pass
    # Its threads may be in the middle of an answer: there is nothing to tidy up.
    os._exit(0)


def _params(xllamacpp: Any, said: dict[str, Any]) -> Any:  # noqa: ANN401 (of a compiled module)
    params = xllamacpp.CommonParams()
    params.model.path = said["path"]
    params.n_ctx = said["window"]
    params.api_keys = [said["key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = 1  # the window is one request's; others wait
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = said["threads"]
    params.cache_ram_mib = said["cache_mib"]
    params.verbosity = 0
    params.ui = False
    params.endpoint_slots = False
    params.use_jinja = True
    if said["template"]:
        params.chat_template = said["template"]
    return params


def _tell(answer: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
