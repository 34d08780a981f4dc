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
from typing import Any, Final

CACHE_MIB: Final = 1_024
"""Most memory for prompts that were read before: a thread that comes back is not read again."""


def main() -> None:
    """Read the task, run the model, and wait until the parent closes the input."""
    task = json.loads(sys.stdin.readline())
    # Read by OpenMP when it is loaded: waiting threads would otherwise keep their cores busy.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.api_keys = task["path"], task["window"], [task["key"]]
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel = 1  # the window is one request's; others wait
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = task["threads"]
    params.cache_ram_mib, params.verbosity = CACHE_MIB, 0
    params.ui, params.endpoint_slots, params.use_jinja = False, False, True
    if task["template"]:
        params.chat_template = task["template"]
    try:
        server = xllamacpp.Server(params)
        answer = {"address": server.listening_address}
    except RuntimeError as error:
        answer = {"problem": str(error)}
    print(json.dumps(answer), flush=True)  # noqa: T201 (to the parent)
    sys.stdin.read()
    os._exit(0)  # its threads may be in the middle of an answer: there is nothing to tidy up


if __name__ == "__main__":
    main()
