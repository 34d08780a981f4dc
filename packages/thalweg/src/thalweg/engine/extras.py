"""The extras of the packages: which one installs a module, and the error if it is missing."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from thalweg.errors import MissingExtraError

EXTRAS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "thalweg": {
        "anthropic": ("langchain_anthropic",),
        "cli": ("typer",),
        "ollama": ("langchain_ollama",),
        "openai": ("langchain_openai", "openai"),
        "postgres": ("psycopg", "psycopg_pool", "langgraph.checkpoint.postgres"),
        "sqlite": ("langgraph.checkpoint.sqlite", "aiosqlite"),
    },
    "thalweg-memory": {},
    "thalweg-agent": {"memory": ("thalweg_memory",), "video": ("av",)},
    "thalweg-server": {
        "chat": ("prompt_toolkit",),
        "documents": ("kreuzberg",),
        "mcp": ("langchain_mcp_adapters",),
    },
    "thalweg-evals": {"inspect": ("inspect_ai",)},
    "thalweg-integrations": {"openai-agents": ("agents",), "pydantic-ai": ("pydantic_ai",)},
}
"""The extras of each package, with their modules. No two packages have an extra of one name.
One without extras is named, too: no index is asked for it."""


def install_line(*requirements: str) -> str:
    """Return the command that installs packages into the environment of this process.

    Args:
        requirements: Names with ranges, or options of `pip install`; never a name of this
            repository, which an installer would search on an index.

    Returns:
        A line for a shell in the current folder, with the path of the environment: with pip where
        the environment has it, else with uv, whose environments have none.

    Example:
        >>> install_line("numpy<3").partition(" install ")[2].endswith("'numpy<3'")
        True
    """
    python, environment = Path(sys.executable or "python"), Path(sys.prefix)
    if environment.is_relative_to(here := Path.cwd()):
        environment = environment.relative_to(here)
    if python.is_relative_to(here):
        python = python.relative_to(here)
    if find_spec("pip"):
        return shlex.join([f"{python}", "-m", "pip", "install", *requirements])
    return shlex.join(["uv", "pip", "install", "--python", f"{environment}", *requirements])


def _install_folder(package: str) -> str:
    """Return what installs a package of this repository: its folder, by its path where known."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 (seldom)
    from urllib.parse import urlsplit  # noqa: PLC0415 (seldom needed)
    from urllib.request import url2pathname  # noqa: PLC0415 (seldom needed)

    try:  # PEP 610: where the core was installed from
        source = json.loads(distribution("thalweg").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        source = {}
    folder = Path(url2pathname(urlsplit(source.get("url", "")).path)).parent / package
    if not source or find_spec("pip") or not (folder / "pyproject.toml").is_file():
        return f"install the folder packages/{package} of Thalweg's repository"
    is_editable = source.get("dir_info", {}).get("editable", False)
    return install_line(*["--editable"] * is_editable, f"{folder}")


def install_command(extra: str) -> str:
    """Return the command that installs the requirements of an extra.

    The requirements are read from the metadata of the installed package. A package of this
    repository is named by its folder, because an installer would search an index for its name.

    Raises:
        KeyError: There is no such extra.
    """
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415 (seldom needed)

    package_by_extra = {
        extra_name: package for package, extras in EXTRAS.items() for extra_name in extras
    }
    package = package_by_extra[extra]
    try:
        parsed_lines = [line.replace('"', "'").partition(";") for line in requires(package) or ()]
    except PackageNotFoundError:
        return _install_folder(package)
    requirements = [
        requirement for requirement, _, marker in parsed_lines if f"extra == '{extra}'" in marker
    ]
    for requirement in requirements:
        if (name := requirement.partition("=")[0]) in EXTRAS:
            return _install_folder(name)
    return install_line(*requirements)


def extra_of(module: str) -> str:
    """Return the extra that installs a module; empty if none does.

    Example:
        >>> extra_of("psycopg.rows"), extra_of("av"), extra_of("thalweg.engine")
        ('postgres', 'video', '')
    """
    return next(
        (
            extra
            for extras in EXTRAS.values()
            for extra, modules in extras.items()
            if any(f"{module}.".startswith(f"{extra_module}.") for extra_module in modules)
        ),
        "",
    )


def missing_extra(
    error: ModuleNotFoundError, needed_by: str = "thalweg"
) -> MissingExtraError | None:
    """Convert a failed import to an error with the command that installs its extra.

    Args:
        error: The failed import.
        needed_by: The function, command or setting that needs the module.

    Returns:
        The error; `None` if no extra installs the module.
    """
    extra = extra_of(error.name or "")
    if not extra:
        return None
    problem = f"the package {error.name} is not installed"
    return MissingExtraError(needed_by, problem, install_command(extra))


@contextmanager
def needs_extra(needed_by: str) -> Iterator[None]:
    """Import modules of an extra.

    Args:
        needed_by: The function, command or setting that needs them.

    Raises:
        MissingExtraError: The extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = missing_extra(error, needed_by)
        if missing is None:
            raise
        raise missing from None
