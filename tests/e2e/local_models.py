"""Local models as tests make them."""

from typing import Any, cast

from thalweg.server.models import chat_model
from thalweg.server.models.local.chat import LocalChat
from thalweg.server.settings import ModelSettings


def local(path: object, **said: Any) -> LocalChat:  # noqa: ANN401 (what a file may say)
    """Make a model of a file, with a small window and answers that come to an end.

    It computes on one core: two that wait for each other are slow where other tests run beside.
    """
    given = {"window": 2_048, "max_output": 32, "temperature": 0, "threads": 1, **said}
    return cast(
        "LocalChat", chat_model(ModelSettings(name="m", provider="local", model=str(path), **given))
    )
