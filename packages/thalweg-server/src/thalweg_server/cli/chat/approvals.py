"""Questions of an agent to a person, and the answers in the agent's format."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from thalweg_server.api.threads import Question

_USUAL = ("approve", "edit", "reject")
_KINDS = {
    "approve": (("a", "approve", "y", "yes"), "a: approve"),
    "edit": (("e", "edit"), "e: edit the arguments"),
    "reject": (("r", "reject", "n", "no"), "r REASON: reject"),
    "respond": (("s", "set"), "s TEXT: set the result"),
}
"""By decision: the words that a line begins with, and its help."""


@dataclass(frozen=True, slots=True)
class Action:
    """A call that the agent asks to make.

    Attributes:
        allowed: Allowed decisions, of `approve`, `edit`, `reject` and `respond` (write the tool's
            result).
    """

    name: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    allowed: tuple[str, ...] = _USUAL

    @property
    def choices(self) -> str:
        """The decisions that a line can begin with."""
        return ", ".join(_KINDS[kind][1] for kind in self.allowed)


def actions_of(question: Question) -> list[Action]:
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
        [Action(name='deploy', arguments={}, allowed=('approve',))]
    """
    value = question.value if isinstance(question.value, dict) else {}
    allowed = {
        one.get("action_name"): tuple(k for k in _KINDS if k in _list(one.get("allowed_decisions")))
        for one in _objects(value.get("review_configs"))
    }
    return [
        Action(
            name=(name := str(one.get("name", ""))),
            arguments=arguments if isinstance(arguments := one.get("args"), dict) else {},
            allowed=allowed.get(name) or _USUAL,
        )
        for one in _objects(value.get("action_requests"))
    ]


def answer_to(
    questions: Sequence[Question],
    decide: Callable[[Action], JsonValue],
    ask: Callable[[str], str],
) -> JsonValue:
    """Ask every question; return the value that the next run resumes with.

    Args:
        questions: Those for which the run was interrupted.
        decide: Decides on one action.
        ask: Answers a question that is about no action.
    """
    answers: dict[str, JsonValue] = {}
    for question in questions:
        value = question.value
        if actions := actions_of(question):
            answers[question.id] = {"decisions": [decide(action) for action in actions]}
        else:
            answers[question.id] = ask(value if isinstance(value, str) else json.dumps(value))
    return next(iter(answers.values())) if len(answers) == 1 else answers


def read_decision(line: str, action: Action) -> dict[str, JsonValue] | None:
    """Parse a typed decision on an action.

    Args:
        line: A letter or word of the decision, then its text: the reason, the new arguments
            as a JSON object, or the result.
        action: The action to decide on.

    Returns:
        The decision in LangChain's format; `None` if the line names none that is allowed.

    Raises:
        ValueError: The new arguments are not a JSON object.

    Example:
        >>> read_decision("r not on a Friday", Action("deploy"))
        {'type': 'reject', 'message': 'not on a Friday'}
    """
    word, _, text = line.strip().partition(" ")
    text = text.strip()
    match next((kind for kind in action.allowed if word.lower() in _KINDS[kind][0]), None):
        case "edit":
            if not isinstance(arguments := json.loads(text), dict):
                raise ValueError('write {"name": value}')  # noqa: TRY003, TRY004 (as of no JSON)
            return {"type": "edit", "edited_action": {"name": action.name, "args": arguments}}
        case "reject" | "respond" as kind if text or kind == "respond":
            return {"type": kind, "message": text}
        case None:
            return None
        case kind:
            return {"type": kind}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _objects(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [each for each in _list(value) if isinstance(each, dict)]
