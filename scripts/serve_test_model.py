"""Serve a GGUF file for tests: llama.cpp's server with OpenAI's API, on a free port of loopback.

Usage: uv run python scripts/serve_test_model.py PATH [WINDOW] [TEMPLATE]

WINDOW is in tokens (2,048 by default); TEMPLATE is a Jinja file that replaces the file's own chat
template. The first line of the output is the address of the API. The server ends when its input
is closed, and so with the process that started it.
"""

import os
import sys
from pathlib import Path

# Read by OpenMP when it is loaded: waiting threads would otherwise keep their cores busy.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import xllamacpp


def main() -> None:
    """Load the model, print its address, and wait until the input is closed."""
    path, *options = sys.argv[1:]
    window, template = (*options, *("2048", "")[len(options) :])
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx = path, int(window)
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel = 1  # the window is one request's; others wait
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # other tests run, too
    params.verbosity, params.ui, params.use_jinja = 0, False, True
    if template:
        params.chat_template = Path(template).read_text(encoding="utf-8")
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()
    os._exit(0)  # its threads may be in the middle of an answer, and keep nothing


if __name__ == "__main__":
    main()
