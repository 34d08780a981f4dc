"""`examples/documents` in a process that is forked with everything imported.

    python -m tests.docs.document_rows FOLDER ARGUMENT...

FOLDER has the files of `examples/documents`, perhaps changed.
"""

import runpy
import sys
from importlib import import_module

from server_tests.e2e.forked_command import own_streams

LATE = (
    "thalweg_agent",
    "thalweg_agent.middleware",
    "thalweg_evals.agents",
    "thalweg_memory",
    "thalweg_server.app.opening",
    "thalweg_server.client.connection",
    "thalweg_server.client.in_process",
    "thalweg_server.gateway.create",
)


def warm_up() -> None:
    """Import what the rows import."""
    for module in LATE:
        import_module(module)


if __name__ == "__main__":
    own_streams()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
