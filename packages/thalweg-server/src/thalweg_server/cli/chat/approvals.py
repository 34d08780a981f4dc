"""Questions of an agent to a person, and the answers in the agent's format."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from thalweg_server.api.threads import Question

ALLOWED = ("approve", "edit", "reject", "respond")
_ONE = "tool_approval"
"""Type of a question about one call, which one decision answers, and no list of them."""
_USUAL = ("approve", "edit", "reject")


@dataclass(frozen=True, slots=True)
class Action:
    """Something the agent wants to do.

    Attributes:
        allowed: Allowed decisions, of `approve`, `edit`, `reject` and `respond` (write the tool's
            result).
    """

    name: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    description: str = ""
    allowed: tuple[str, ...] = _USUAL


Decide = Callable[[Action], dict[str, JsonValue]]
Ask = Callable[[str], str]


def actions_of(question: Question) -> tuple[Action, ...]:
    """Return the actions that a question asks to approve; empty if it asks anything else.

    Example:
        >>> question = Question(
        ...     id="q",
        ...     value={
        ...         "action_requests": [{"name": "deploy"}],
        ...         "review_configs": [{"action_name": "deploy", "allowed_decisions": ["approve"]}],
        ...     },
        ... )
        >>> actions_of(question)
        (Action(name='deploy', arguments={}, description='', allowed=('approve',)),)
    """
    value = question.value if isinstance(question.value, dict) else {}
    allowed = {
        str(config.get("action_name")): tuple(
            each for each in ALLOWED if each in _listed(config.get("allowed_decisions"))
        )
        for config in _objects(value.get("review_configs"))
    }
    if value.get("type") == _ONE:
        return (_action(value, {}),)
    requests = _objects(value.get("action_requests"))
    return tuple(_action(request, allowed) for request in requests)


def _action(request: Mapping[str, JsonValue], allowed: Mapping[str, tuple[str, ...]]) -> Action:
    name = str(request.get("name", ""))
    return Action(
        name=name,
        arguments=_arguments(request),
        description=str(request.get("description") or ""),
        allowed=allowed.get(name) or _USUAL,
    )


def answer_to(questions: Sequence[Question], decide: Decide, ask: Ask) -> JsonValue:
    """Ask every question; return the value that the next run resumes with.

    Args:
        questions: Those for which the run was interrupted.
        decide: Decides on one action.
        ask: Answers a question that is about no action.
    """
    answers: dict[str, JsonValue] = {}
    for question in questions:
        value = question.value
        decisions: list[JsonValue] = [decide(action) for action in actions_of(question)]
        if isinstance(value, dict) and value.get("type") == _ONE:
            answers[question.id] = decisions[0]
        elif decisions:
            answers[question.id] = {"decisions": decisions}
        else:
            answers[question.id] = ask(value if isinstance(value, str) else json.dumps(value))
    return next(iter(answers.values())) if len(answers) == 1 else answers


def decision(kind: str, message: str = "") -> dict[str, JsonValue]:
    """Return a decision other than an edit.

    Args:
        kind: `approve`, `reject` or `respond` (answer in place of the tool).
        message: The reason, which may be empty, or the answer.
    """
    extra: dict[str, JsonValue] = {"message": message} if message or kind == "respond" else {}
    return {"type": kind, **extra}


def edit(action: Action, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the decision to perform it with other arguments."""
    return {"type": "edit", "edited_action": {"name": action.name, "args": dict(arguments)}}


def _arguments(request: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    given = request.get("args", request.get("arguments"))
    return given if isinstance(given, dict) else {}


def _objects(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else list(_USUAL)
