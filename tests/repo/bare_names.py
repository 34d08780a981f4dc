"""Prints what fails to import in an environment without extras, and every command; no test.

The arguments are the packages whose modules are imported.
"""

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import ModuleType

from thalweg.engine.extras import extra_of
from thalweg.errors import MissingExtraError

sys.path.append(str(Path(__file__).parents[2]))

from scripts.command_help import every_help, has_commands


def modules() -> Iterator[str]:
    """Yield what no extra explains: a module that fails, or a public name of one."""
    roots = [importlib.import_module(name) for name in sys.argv[1:]]
    walks = [pkgutil.walk_packages(root.__path__, f"{root.__name__}.") for root in roots]
    for found in chain(*walks):
        if found.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except MissingExtraError:
            continue
        except ModuleNotFoundError as error:
            if not extra_of(error.name or ""):
                yield f"{found.name}: {error!r}"
            continue
        yield from names(module)


def names(module: ModuleType) -> Iterator[str]:
    """Yield the public names of a module that raise something else than the missing extra."""
    for name in getattr(module, "__all__", ()):
        try:
            getattr(module, name)
        except MissingExtraError:
            continue
        except Exception as error:  # noqa: BLE001 (this is what is looked for)
            yield f"{module.__name__}.{name}: {error!r}"


if __name__ == "__main__":
    listed = [" ".join(words) for words, text in every_help() if not has_commands(text)]
    json.dump({"failures": [*modules()], "commands": listed}, sys.stdout)
