"""The result of a tool, and its conversion to a message."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import ToolMessage

from thalweg.errors import ConfigError
from thalweg_agent.backends.results import DENIED
from thalweg_agent.tools.access import ToolDeniedError, ToolRefusedError
from thalweg_agent.tools.asking import OutOfTimeError, Steps, TooManyCallsError


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The result or the error of a tool call."""

    content: str | list[str | dict[Any, Any]]
    """Text, or content blocks."""
    status: Literal["success", "error"] = "success"
    artifact: object = None
    """For programs; the model does not see it."""
    notes: Mapping[str, object] = field(default_factory=dict[str, object])
    """Added to the message's `additional_kwargs`."""

    def message(self, name: str, tool_call_id: str | None) -> ToolMessage:
        """Return the message that answers a call."""
        return ToolMessage(
            content=self.content,
            name=name,
            tool_call_id=tool_call_id or "",
            status=self.status,
            artifact=self.artifact,
            additional_kwargs=dict(self.notes),
        )


def refuse(problem: str) -> ToolAnswer:
    """Return an error result."""
    return ToolAnswer(problem, status="error")


def answered(name: str, steps: Steps[ToolAnswer]) -> Steps[ToolAnswer]:
    """Run a tool's steps; errors become results.

    Args:
        name: The tool's name.
        steps: The tool's generator.
    """
    try:
        return (yield from steps)
    except ToolRefusedError as refused:
        artifact = dict(DENIED) if isinstance(refused, ToolDeniedError) else None
        return ToolAnswer(str(refused), status="error", artifact=artifact)
    except NotImplementedError as missing:
        if isinstance(missing, ConfigError):
            raise
        return refuse(f"Error: this backend cannot {name}. Use another tool. {missing}".rstrip())
    except TooManyCallsError:
        return refuse(
            f"Error: too many {name} calls are already running. "
            "Try again later with a more specific pattern or a narrower path."
        )
    except OutOfTimeError as late:
        return refuse(
            f"Error: {name} timed out after {late}s. "
            "Try a more specific pattern or a narrower path."
        )
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        return refuse(f"Error: {name} failed: {error}")
