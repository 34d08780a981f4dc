"""Validation of a person's answer to a question of an agent.

LangGraph stores an answer before it is parsed: an invalid one would be parsed again by every
later attempt, and the question could not be answered any more.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

from langchain.agents.middleware.human_in_the_loop import Decision
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from thalweg.errors import AnswerError
from thalweg_server.api.threads import Question

_DECISION: TypeAdapter[Decision] = TypeAdapter(Annotated[Decision, Field(discriminator="type")])


def check_answer(questions: Sequence[Question], given: JsonValue) -> None:
    """Validate an answer before it is stored.

    Args:
        questions: The pending questions.
        given: `NewRun.resume`: the answer to the one question, or answers by the questions' ids.

    Raises:
        AnswerError: It matches none of them.
    """
    if not questions:
        problem = "no call waits for a decision"
        raise AnswerError(problem, "send a message")
    known = {question.id: question for question in questions}
    if isinstance(given, dict) and given and given.keys() <= known.keys():
        for id_, answer in given.items():
            _check(known[id_], answer)
    elif len(questions) > 1:
        problem, ids = f"{len(questions)} questions wait", ", ".join(known)
        raise AnswerError(problem, f"answer by their ids: {ids}")
    else:
        _check(questions[0], given)


def _check(question: Question, given: JsonValue) -> None:
    """Validate the answer to a question; questions in a tool's own format are not checked."""
    request = question.value
    if not isinstance(request, dict) or not isinstance(request.get("action_requests"), list):
        return
    names = [str(one["name"]) for one in _objects(request["action_requests"])]
    decisions = given.get("decisions") if isinstance(given, dict) else None
    if not isinstance(decisions, list) or len(decisions) != len(names):
        problem = f"{len(names)} calls need a decision each"
        raise AnswerError(problem, 'send {"decisions": [{"type": "approve"}, …]}')
    allowed = {one["action_name"]: one for one in _objects(request.get("review_configs"))}
    for number, (name, decision) in enumerate(zip(names, decisions, strict=True)):
        _check_decision(f"decisions[{number}]", decision, allowed.get(name, {}))


def _check_decision(where: str, given: JsonValue, review: Mapping[str, JsonValue]) -> None:
    try:
        decision = _DECISION.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = f"{'.'.join((where, *map(str, first['loc'])))}: {first['msg']}"
        raise AnswerError(problem, "fix it, and send it again") from None
    allowed = review.get("allowed_decisions")
    if isinstance(allowed, list) and decision["type"] not in allowed:
        problem = f"{where}: {decision['type']!r} is not allowed"
        raise AnswerError(problem, f"decide one of: {', '.join(map(str, allowed))}")


def _objects(given: JsonValue) -> list[dict[str, JsonValue]]:
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
