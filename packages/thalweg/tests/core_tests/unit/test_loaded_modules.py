"""What `thalweg.ContextMiddleware` loads, and how lazily imported names are found."""

import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules, walk_packages

import thalweg

PACKAGES = {"cli", "client", "lab", "memory", "recorder", "server", "testing"}
LIBRARIES = {"alembic", "fastapi", "psycopg", "sqlalchemy", "typer", "uvicorn", "yaml"}


def test_the_context_middleware_loads_neither_evaluation_nor_server() -> None:
    code = "import sys, thalweg; thalweg.ContextMiddleware; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    ours = [name for name in loaded if name.partition(".")[0] == "thalweg"]

    assert PACKAGES & {name.split(".")[1] for name in ours if "." in name} == set()
    assert LIBRARIES & set(loaded) == set()
    assert len(ours) <= 150


def test_no_lazily_imported_name_is_hidden_by_a_submodule() -> None:
    """Importing `package.name` binds the module to the name, before `__getattr__` is asked."""
    packages = [info.name for info in walk_packages(thalweg.__path__, "thalweg.") if info.ispkg]
    hidden = []
    for name in packages:
        package = import_module(name)
        if "__getattr__" in vars(package):
            modules = {info.name for info in iter_modules(package.__path__)}
            hidden += [f"{name}.{each}" for each in modules & set(package.__all__)]
    assert hidden == []
