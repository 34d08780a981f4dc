"""The process that runs a model: started by `process.py`, and ended with its parent.

llama.cpp's own server runs in it, on a port that the system chooses. It does not run in the calling
process: while it loads a model no other Python code would run there, a request that is active at
its shutdown would hang or crash that process, and so would a failed assertion.

It reads its task as one line of JSON, answers with one, and then waits for the end of its input,
which the parent closes or which its exit closes in any case.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """Read the task, run the model, and wait until the parent closes the input."""
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
