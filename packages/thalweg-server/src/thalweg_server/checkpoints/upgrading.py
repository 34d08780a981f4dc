"""LangGraph's checkpoint tables, as `thalweg db upgrade` creates them."""

from collections.abc import Iterator

from thalweg.engine.extras import extra_of


def create_tables(url: str) -> Iterator[str]:
    """Create or migrate the tables if LangGraph's checkpointer is installed; yield each step done.

    Raises:
        psycopg.Error: The server failed, or the role lacks a privilege.
    """
    try:
        from thalweg_server.checkpoints.postgres import (  # noqa: PLC0415 (LangGraph)
            set_up_checkpoints,
        )
    except ModuleNotFoundError as error:
        if extra_of(error.name or "") != "postgres":
            raise
        return
    if set_up_checkpoints(url):
        yield "LangGraph's checkpoint tables exist, with row-level security."
    else:
        yield (
            "LangGraph's checkpoint tables hold threads of another application, without "
            "row-level security: use a separate database for Thalweg."
        )
