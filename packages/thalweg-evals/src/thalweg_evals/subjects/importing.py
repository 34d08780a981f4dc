"""Import an object by its path, with an error that explains a wrong path."""

import sys
from difflib import get_close_matches
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import NoReturn
from uuid import uuid4

from thalweg.engine.sections import nearest
from thalweg.errors import ConfigError


def found_at(name: str) -> object:
    """Import `module:attribute` or `path/to/file.py:attribute`.

    The current folder is importable, and so is the folder of a file. Errors of the imported module
    are passed to the caller.

    Raises:
        ConfigError: There is no such module or attribute, or a dependency of it is not installed.
    """
    place, _, attribute = name.rpartition(":")
    found: object = _module(name, place)
    for step in attribute.split("."):
        if not hasattr(found, step):
            known = [one for one in vars(found) if not one.startswith("_")]
            fix = nearest(step, known, "name a graph, or a function that makes one")
            raise ConfigError(name, f"{place} has no {step!r}", fix)
        found = getattr(found, step)
    return found


def _module(name: str, place: str) -> ModuleType:
    if place.endswith(".py"):
        return _of_file(name, Path(place))
    _let_import(Path.cwd())
    try:
        return import_module(place)
    except ModuleNotFoundError as missing:
        _raise_missing(name, place, missing)


def _of_file(name: str, path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        there = [one.name for one in path.parent.glob("*.py")] if path.parent.is_dir() else []
        close = get_close_matches(path.name, there, 1)
        fix = f"did you mean {close[0]}?" if close else "name a file, from the current folder on"
        raise ConfigError(name, f"there is no file {path}", fix)
    _let_import(Path.cwd())
    _let_import(path.parent)
    called = f"thalweg_subject_{path.stem}_{uuid4().hex[:8]}"
    loader = SourceFileLoader(called, str(path))
    module = module_from_spec(ModuleSpec(called, loader, origin=str(path)))
    module.__file__ = str(path)
    sys.modules[called] = module  # dataclasses and annotations resolve their names here
    try:
        loader.exec_module(module)
    except ModuleNotFoundError as missing:
        _raise_missing(name, str(path), missing)
    return module


def _let_import(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _raise_missing(name: str, place: str, missing: ModuleNotFoundError) -> NoReturn:
    lacks = missing.name or ""
    if f"{place}.".startswith(f"{lacks}."):
        problem = f"there is no module {lacks!r} that could be imported from {Path.cwd()}"
        fix = f"name a file (path/to/file.py:{name.rpartition(':')[2]}), or go to its folder"
        raise ConfigError(name, problem, fix) from missing
    install = f"pip install {lacks.partition('.')[0].replace('_', '-')}"
    raise ConfigError(name, f"it imports {lacks}, which is not installed", install) from missing
