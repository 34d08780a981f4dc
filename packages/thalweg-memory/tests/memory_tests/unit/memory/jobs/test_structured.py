"""A model is asked for a list, in the way that it understands, and once more if it erred."""

import json
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda

from thalweg.engine.tokens import exact_counter
from thalweg.testing import ScriptedModel
from thalweg_memory.facts.learning.questions import Item, LearnerRequest, read_answer
from thalweg_memory.jobs.learner import Respondent, StructuredAnswer, written

FACT = {
    "turn": 1,
    "quote": "tea",
    "content": "The user likes tea.",
    "category": "preference",
    "confidence": 0.9,
}
QUESTION = LearnerRequest("rules", "question", {}, (("asked", '{"facts": []}'),))
GOOD = json.dumps({"facts": [FACT]})


def items(told: StructuredAnswer) -> list[Item]:
    return [one for one in told.answer.items if isinstance(one, Item)]


class Refused(Exception):  # noqa: N818 (as a provider's client names it)
    """A provider's answer to a request it does not understand."""

    def __init__(self, status_code: int) -> None:
        super().__init__(status_code)
        self.status_code = status_code


class Plain(ScriptedModel):
    """A model that takes neither schemas nor tools."""

    status: int = 0

    def with_structured_output(
        self,
        schema: Any,  # noqa: ANN401 (LangChain's signature)
        *,
        include_raw: bool = False,
        **kwargs: Any,  # noqa: ANN401 (the same)
    ) -> Runnable[Any, Any]:
        """Refuse, as a provider or as LangChain does."""
        del schema, include_raw, kwargs
        if not self.status:
            raise NotImplementedError
        return RunnableLambda(self._refuse)

    def _refuse(self, _: object) -> dict[str, Any]:
        raise Refused(self.status)


Script = Callable[[Sequence[BaseMessage]], AIMessage | str]


def respondent(script: Script, status: int | None = None) -> Respondent:
    model = ScriptedModel(script=script)
    if status is not None:
        model = Plain(script=script, status=status)
    return Respondent(model, exact_counter())


def test_a_refusal_of_every_way_leaves_the_ways_as_they_were() -> None:
    """An empty balance has the status of an unsupported schema, and is over some day."""
    is_paid = False
    asked_in: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        if not is_paid:
            raise Refused(400)
        asked_in.append(str(messages[-1].content))
        return GOOD

    asked = respondent(script)
    for _ in range(2):
        with pytest.raises(Refused):
            asked.ask(QUESTION, "facts")
    is_paid = True
    assert len(items(asked.ask(QUESTION, "facts"))) == 1
    assert asked_in == ["question"]  # without the schema in words


@pytest.mark.parametrize("is_cut", [False, True])
def test_after_another_error_no_refused_way_is_tried_again(*, is_cut: bool) -> None:
    """Each of them would cost a request with every question."""
    tried = 0

    class BusyError(Exception):
        completion = SimpleNamespace(
            choices=[SimpleNamespace(message=SimpleNamespace(content="{"))]
        )

    class Counted(Plain):
        def _refuse(self, _: object) -> dict[str, Any]:
            nonlocal tried
            tried += 1
            raise Refused(400)

    def script(_: Sequence[BaseMessage]) -> str:
        raise BusyError if is_cut else TimeoutError

    asked = Respondent(Counted(script=script, status=400), exact_counter())
    for _ in range(2):
        if is_cut:
            asked.ask(QUESTION, "facts")
        else:
            with pytest.raises(TimeoutError):
                asked.ask(QUESTION, "facts")
    assert tried == 2


def test_what_stands_before_a_question_is_the_same_every_time() -> None:
    """The rules, then examples: a provider's cache has all but the question itself."""
    seen: list[list[tuple[str, str]]] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        seen.append([(m.type, str(m.content)) for m in messages])
        return GOOD

    told = respondent(script).ask(QUESTION, "facts")

    assert [item.quote for item in items(told)] == ["tea"]
    assert seen == [
        [("system", "rules"), ("human", "asked"), ("ai", '{"facts": []}'), ("human", "question")]
    ]
    assert (told.spent.calls, told.spent.input > 0, told.spent.output > 0) == (1, True, True)


def test_the_arguments_of_a_tool_call_are_an_answer() -> None:
    """Most models return structured output so; broken arguments are read as far as possible."""
    call = {"name": "facts", "args": {"facts": [FACT]}, "id": "c1"}
    broken = {"name": "facts", "args": GOOD[:-2] + ', {"turn"', "id": "c1", "error": None}
    good = respondent(lambda _: AIMessage("", tool_calls=[call]))
    cut = respondent(lambda _: AIMessage("", invalid_tool_calls=[broken]))

    assert len(good.ask(QUESTION, "facts").answer.items) == 1
    told = cut.ask(QUESTION, "facts")
    assert len(told.answer.items) == 1
    assert told.spent.calls == 2


def test_the_facts_of_all_tool_calls_are_an_answer() -> None:
    """A model may call the tool several times at once; each call has the lists of the schema."""
    args = [{"facts": [{**FACT, "content": f"The user likes {tea}."}]} for tea in ("tea", "mate")]
    calls = [{"name": "f", "args": one, "id": str(n)} for n, one in enumerate(args)]
    answer = read_answer(written(AIMessage("", tool_calls=calls)), "facts")
    assert [one.content for one in answer.items if isinstance(one, Item)] == [
        "The user likes tea.",
        "The user likes mate.",
    ]


@pytest.mark.parametrize(
    ("args", "output"),
    [
        ([{"facts": [1]}, {"facts": 5}], {"facts": [1]}),
        ([{"turn": 1}, {"turn": 2}], {"turn": 1}),
        ([{"facts": "[1]"}, {"facts": "[2]"}], {"facts": "[1]"}),
        ([{"sources": []}, {"pairs": [1]}], {"sources": [], "pairs": [1]}),
        ([{}, {"facts": [1]}], {"facts": [1]}),
    ],
)
def test_several_tool_calls_are_joined_if_all_arguments_are_lists(
    args: list[dict[str, Any]], output: dict[str, Any]
) -> None:
    """Each argument of any call is in the output."""
    calls = [{"name": "f", "args": one, "id": str(n)} for n, one in enumerate(args)]
    assert json.loads(written(AIMessage("", tool_calls=calls))) == output


def test_an_answer_that_cannot_be_read_is_asked_for_once_more_with_what_was_wrong() -> None:
    """With the answer before it, and never a third time."""
    said: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        said.append(str(messages[-1].content))
        return "I found one." if len(said) == 1 else GOOD

    told = respondent(script).ask(QUESTION, "facts")

    assert "it is not JSON" in said[1]
    assert len(told.answer.items) == 1
    assert told.spent.calls == 2


def test_of_two_broken_answers_what_can_be_read_is_kept() -> None:
    """Item by item; nothing else is made up."""
    half = json.dumps({"facts": [FACT, {"turn": 1}]})
    answers = iter([half, "sorry"])

    told = respondent(lambda _: next(answers)).ask(QUESTION, "facts")

    assert [item.content for item in items(told)] == ["The user likes tea."]


@pytest.mark.parametrize("status", [0, 400, 422])
def test_a_model_that_takes_no_schema_is_asked_in_plain_words(status: int) -> None:
    """This is remembered from then on."""
    asked: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        asked.append(str(messages[-1].content))
        return GOOD

    one = respondent(script, status=status)
    for _ in range(2):
        assert len(one.ask(QUESTION, "facts").answer.items) == 1

    assert len(asked) == 2
    assert all('"additionalProperties"' in text for text in asked)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_goes_to_the_caller(status: int) -> None:
    """Another way of asking would not help; trying again later does."""
    with pytest.raises(Refused):
        respondent(lambda _: GOOD, status=status).ask(QUESTION, "facts")


def test_an_answer_that_became_too_long_is_read_as_far_as_it_goes() -> None:
    """Where a client raises that, the error holds what was written and what it cost."""

    class TooLongError(Exception):
        completion = SimpleNamespace(
            choices=[SimpleNamespace(message=SimpleNamespace(content=GOOD[:-2] + ', {"tu'))],
            usage=SimpleNamespace(prompt_tokens=100, completion_tokens=20),
        )

    class Rambling(Plain):
        def _refuse(self, _: object) -> dict[str, Any]:
            raise TooLongError

    told = Respondent(Rambling(script=lambda _: GOOD, status=1), len).ask(QUESTION, "facts")

    assert [item.content for item in items(told)] == ["The user likes tea."]
    assert (told.spent.calls, told.spent.input, told.spent.output) == (2, 200, 40)
