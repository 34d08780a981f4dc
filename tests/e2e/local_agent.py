"""A process that has a local model answer, and then does not end by itself."""

import os
import signal
import sys
import time

from tests.e2e.local_models import local


def main() -> None:
    """Answer once, in this process or in a fork of it; tell the processes; stay."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a shell's background
    model = local(sys.argv[1])
    model.invoke("hi")
    print(model.host.server().address, flush=True)  # noqa: T201
    if sys.argv[2] == "fork":
        if (child := os.fork()) == 0:
            model.invoke("hi")
            print(model.host.server().address, flush=True)  # noqa: T201
            os._exit(0)
        os.waitpid(child, 0)
        model.invoke("hi")
        print(model.host.server().address, flush=True)  # noqa: T201
    if sys.argv[2] == "stay":
        time.sleep(600)


if __name__ == "__main__":
    main()
