"""`RubricMiddleware`: another model grades an agent's work, and sends it back until it passes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal, NotRequired, Self
from uuid import uuid4

from langchain.agents import create_agent
from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    PrivateStateAttr,
    hook_config,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from pydantic import BaseModel, Discriminator, Field, model_validator
from typing_extensions import TypedDict

from thalweg.context.turn.effects import Flow, SyncOrAsync, sync_and_async
from thalweg.errors import ConfigError
from thalweg_agent.prompts import prompt

GraderVerdict = Literal["satisfied", "needs_revision", "failed"]
"""Verdict of a grader; `failed`: the rubric itself cannot be judged."""
RubricResult = GraderVerdict | Literal["max_iterations_reached", "grader_error"]
"""Outcome of an evaluation; all but `needs_revision` end the grading."""
RUBRIC_GRADER_MESSAGE_SOURCE: Final = "rubric_grader"
"""`lc_source` in `additional_kwargs` of the messages that send work back."""
GRADER_SYSTEM_PROMPT: Final = prompt("rubric_grader").text
"""The standard instructions of a grader."""
SHOWN_MESSAGES: Final = 30
"""Number of newest messages that a grader sees, in addition to the user's first."""
SHOWN_CHARS: Final = 4_000
"""Characters of one message that a grader is shown."""


class CriterionPass(TypedDict):
    """A criterion that is met."""

    name: Annotated[str, Field(description="The criterion, as the rubric words it.")]
    passed: Literal[True]


class CriterionFail(TypedDict):
    """A criterion that is not met."""

    name: Annotated[str, Field(description="The criterion, as the rubric words it.")]
    passed: Literal[False]
    gap: Annotated[str, Field(description="What is missing or wrong, so that it can be mended.")]


CriterionEval = Annotated[CriterionPass | CriterionFail, Discriminator("passed")]
"""The verdict on one criterion."""


class GraderResponse(BaseModel):
    """The answer of a grader.

    Raises:
        ValueError: The result contradicts the verdicts on the criteria.
    """

    result: GraderVerdict = Field(description="The verdict on the whole.")
    explanation: str = Field(description="The reason in one or two sentences, for the agent.")
    criteria: list[CriterionEval] = Field(description="One verdict for each criterion, in order.")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        passed = [criterion["passed"] for criterion in self.criteria]
        if self.result == "satisfied" and not all(passed):
            message = "the result cannot be satisfied while a criterion fails"
            raise ValueError(message)
        if self.result == "needs_revision" and passed and all(passed):
            message = "the result cannot be needs_revision while all criteria pass"
            raise ValueError(message)
        return self


class RubricEvaluation(TypedDict):
    """One evaluation of an agent's work."""

    grading_run_id: str
    """The same for all evaluations of one piece of work."""
    iteration: int
    """From 0."""
    result: RubricResult
    explanation: str
    criteria: list[CriterionEval]


class RubricState(AgentState[Any]):
    """The state of an agent whose work is graded: the caller sets `rubric`."""

    rubric: NotRequired[str]
    """The criteria of success; valid for the thread until replaced. Empty: nothing is graded."""
    _rubric_status: NotRequired[Annotated[RubricResult | None, PrivateStateAttr]]
    _rubric_iterations: NotRequired[Annotated[int, PrivateStateAttr]]
    _rubric_evaluations: NotRequired[Annotated[list[RubricEvaluation], PrivateStateAttr]]
    _current_grading_run_id: NotRequired[Annotated[str, PrivateStateAttr]]
    _active_rubric: NotRequired[Annotated[str, PrivateStateAttr]]


class RubricSettingError(ConfigError, ValueError):
    """An argument of `RubricMiddleware` cannot be used."""


class RubricMiddleware(AgentMiddleware[RubricState, Any, Any]):
    """Grade the work of an agent when it ends, and continue the run while a criterion fails.

    A run whose state has a `rubric` ends when a grader is satisfied, when it cannot judge, when it
    fails, or after `max_iterations` evaluations; the answer is the agent's last in each case. An
    evaluation is also a custom stream event of type `rubric_evaluation`.

    Args:
        model: The grader's model.
        tools: Tools with which the grader may check the work.
        system_prompt: Instructions to the grader, in place of ours.
        max_iterations: Evaluations of one piece of work at most.
        on_evaluation: Called with each evaluation.

    Raises:
        ConfigError: An argument cannot be used; also a `ValueError`. A number that is none is a
            `TypeError`.
    """

    state_schema = RubricState

    def __init__(
        self,
        *,
        model: BaseChatModel | str,
        tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
        system_prompt: str | None = None,
        max_iterations: int = 3,
        on_evaluation: Callable[[RubricEvaluation], object] | None = None,
    ) -> None:
        super().__init__()
        if not model:
            what = "`model` is required"
            raise RubricSettingError(what, "nobody would grade", "name a model")
        if isinstance(max_iterations, bool) or not isinstance(max_iterations, int):
            message = f"max_iterations must be a number, not {type(max_iterations).__name__}"
            raise TypeError(message)
        if max_iterations < 1:
            problem = f"{max_iterations} evaluations grade nothing"
            raise RubricSettingError("max_iterations", problem, "pass 1 or more")
        self.max_iterations = max_iterations
        self._model = model
        self._tools = list(tools or ())
        self._system_prompt = GRADER_SYSTEM_PROMPT if system_prompt is None else system_prompt
        self._on_evaluation = on_evaluation
        self._grader: Any = None

    def before_agent(self, state: RubricState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Begin a grading, for another rubric or another piece of work."""
        del runtime
        rubric = state.get("rubric")
        goes_on = state.get("_rubric_status") in {None, "needs_revision"}
        if not rubric or (rubric == state.get("_active_rubric") and goes_on):
            return None
        return {
            "_active_rubric": rubric,
            "_current_grading_run_id": f"rubric-{uuid4()}",
            "_rubric_iterations": 0,
            "_rubric_status": None,
        }

    async def abefore_agent(
        self, state: RubricState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Begin a grading, for another rubric or another piece of work; see `before_agent`."""
        return self.before_agent(state, runtime)

    @hook_config(can_jump_to=["model"])
    def _evaluate(self, state: RubricState, runtime: Runtime[Any]) -> Flow[dict[str, Any] | None]:
        """Grade, and send the work back if a criterion fails."""
        if not state.get("rubric"):
            return None
        arguments = state, state.get("_rubric_iterations", 0)
        graded: GraderResponse | Exception
        try:
            graded = yield SyncOrAsync(
                partial(self._grade, *arguments), partial(self._agrade, *arguments)
            )
        except Exception as problem:  # noqa: BLE001  # whatever a provider raises ends the grading
            graded = problem
        return self._decided(state, runtime, graded)

    after_agent, aafter_agent = sync_and_async(_evaluate)

    def _grade(self, state: RubricState, iteration: int) -> GraderResponse:
        del iteration
        return _response(self._agent().invoke(_request(state)))

    async def _agrade(self, state: RubricState, iteration: int) -> GraderResponse:
        del iteration
        return _response(await self._agent().ainvoke(_request(state)))

    def _agent(self) -> Any:  # noqa: ANN401  # a compiled graph
        if self._grader is None:
            self._grader = create_agent(
                self._model,
                self._tools,
                system_prompt=self._system_prompt,
                response_format=GraderResponse,
            )
        return self._grader

    def _decided(
        self, state: RubricState, runtime: Runtime[Any], graded: GraderResponse | Exception
    ) -> dict[str, Any]:
        evaluation = plan_evaluation(state, graded, self.max_iterations)
        runtime.stream_writer({"type": "rubric_evaluation", **evaluation})
        if self._on_evaluation is not None:
            self._on_evaluation(evaluation)
        update: dict[str, Any] = {
            "_rubric_status": evaluation["result"],
            "_rubric_iterations": evaluation["iteration"] + 1,
            "_rubric_evaluations": [*state.get("_rubric_evaluations", []), evaluation],
        }
        if evaluation["result"] == "needs_revision":
            update |= {"messages": [revision_message(evaluation)], "jump_to": "model"}
        return update


def plan_evaluation(
    state: Mapping[str, Any], graded: GraderResponse | Exception, max_iterations: int
) -> RubricEvaluation:
    """Return the evaluation that follows from a grader's answer or its failure."""
    iteration: int = state.get("_rubric_iterations", 0)
    result: RubricResult = "grader_error"
    explanation, criteria = f"{type(graded).__name__}: {graded}", list[CriterionEval]()
    if isinstance(graded, GraderResponse):
        result, explanation, criteria = graded.result, graded.explanation, graded.criteria
        if result == "needs_revision" and iteration + 1 >= max_iterations:
            result = "max_iterations_reached"
    return RubricEvaluation(
        grading_run_id=state.get("_current_grading_run_id", ""),
        iteration=iteration,
        result=result,
        explanation=explanation,
        criteria=criteria,
    )


def revision_message(evaluation: RubricEvaluation) -> HumanMessage:
    """Return the message that sends work back, with the failed criteria."""
    gaps = [
        f"- {criterion['name']}: {criterion['gap']}"
        for criterion in evaluation["criteria"]
        if criterion["passed"] is False
    ]
    text = prompt("rubric_revision").render(
        explanation=evaluation["explanation"], gaps="\n".join(gaps)
    )
    source = {"lc_source": RUBRIC_GRADER_MESSAGE_SOURCE}
    return HumanMessage(text, name=RUBRIC_GRADER_MESSAGE_SOURCE, additional_kwargs=source)


def _request(state: Mapping[str, Any]) -> dict[str, Any]:
    text = prompt("rubric_request").render(
        rubric=_closed(state["rubric"]), transcript=_closed(_transcript(state["messages"]))
    )
    return {"messages": [HumanMessage(text)]}


def _transcript(messages: Sequence[AnyMessage]) -> str:
    users = [m for m in messages if isinstance(m, HumanMessage) and not _is_revision(m)]
    shown = list(messages[-SHOWN_MESSAGES:])
    if users and users[0] not in shown:
        shown.insert(0, users[0])
    return "\n\n".join(map(_shown, shown))


def _is_revision(message: AnyMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == RUBRIC_GRADER_MESSAGE_SOURCE


def _shown(message: AnyMessage) -> str:
    calls = [f"{call['name']}({call['args']})" for call in getattr(message, "tool_calls", ())]
    text = "\n".join([message.text, *calls]).strip()
    cut = f"{text[:SHOWN_CHARS]} … ({len(text):,} characters)" if len(text) > SHOWN_CHARS else text
    return f"[{message.type}] {cut}"


def _closed(text: str) -> str:
    """Write a text so that none of its tags ends the part that it is in."""
    return text.replace("</", "<\u200b/")


def _response(result: Mapping[str, Any]) -> GraderResponse:
    """Return the answer; from a checkpoint whose class is not imported it is a `dict`."""
    return GraderResponse.model_validate(result["structured_response"])
