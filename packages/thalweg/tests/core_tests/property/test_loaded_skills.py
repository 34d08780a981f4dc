"""A skill that was read is shown whole, or named with a way to read it again; no ghosts (I16)."""

import json
from collections.abc import Iterable

from hypothesis import event, given
from hypothesis import strategies as st

from core_tests.property.driving import Drive, Request, drive
from core_tests.property.strategies import Scenario
from thalweg.engine.edits import Fold
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg.engine.window.budget import Budget

PATHS = ("/skills/pdf/SKILL.md", "/skills/csv/SKILL.md", "/team/deploy/SKILL.md")
GONE = "skill {}: not shown any more"


def _exchange(n: int, name: str, arguments: dict[str, object], text: str) -> list[Message]:
    call = ToolCall(f"c{n}", name, json.dumps(arguments))
    return [Message("assistant", (call,)), Message("tool", (Text(text),), answers=f"c{n}")]


@st.composite
def threads(draw: st.DrawFn) -> Scenario:
    """Draw work of any size with reads of skills between, some of them in pages."""
    messages = [Message("user", (Text("Make the release, step by step."),))]
    for n in range(draw(st.integers(5, 50))):
        size = draw(st.integers(0, 1_600))
        match draw(st.sampled_from(("work", "work", "work", "skill", "page", "request"))):
            case "work":
                messages += _exchange(
                    n, "Bash", {"command": f"make {n}"}, f"step {n} " * (size // 8)
                )
            case "request":
                messages += [
                    Message("assistant", (Text(f"Done {n}."),)),
                    Message("user", (Text(f"Now number {n}. " + "x" * (size // 4)),)),
                ]
            case kind:
                scope = {"offset": 100} if kind == "page" else {}
                path = draw(st.sampled_from(PATHS))
                text = f"[text {n}] " + "do it " * (size // 6)
                messages += _exchange(n, "read_file", {"file_path": path, **scope}, text)
    window = draw(st.sampled_from((5_000, 9_000, 20_000)))
    return Scenario(tuple(messages), Budget(window=window), "anthropic")


def _loaded(driven: Drive, upto: int) -> dict[str, list[str]]:
    """Return which texts each skill consists of after so many messages: it, and further pages."""
    texts: dict[str, list[str]] = {}
    for entry in driven.entries[:upto]:
        if entry.answers and entry.answers.target in PATHS:
            before = texts.get(entry.answers.target, []) if entry.answers.scope else []
            texts[entry.answers.target] = [*before, entry.message.text]
    return texts


def _is_named(request: Request, path: str) -> bool:
    text = "\n".join(m.text for m in request.messages)
    name = path.split("/")[-2]
    return GONE.format(name) in text and f'read_file("{path}")' in text


def _is_previewed(driven: Drive, request: Request, texts: Iterable[str]) -> bool:
    """Whether the replacement of a text declares itself one, and how to read the text."""
    for item in request.items:
        entry = driven.entries[item.position] if item.position >= 0 else None
        if entry and entry.message.text in texts and item.message.text != entry.message.text:
            return "recall(" in item.message.text
    return False


@given(threads())
def test_a_loaded_skill_is_whole_or_named_in_every_request(scenario: Scenario) -> None:
    """This holds after any folds, clears or squeezes in between."""
    driven = drive(scenario)
    for request in driven.requests:
        shown = {m.text for m in request.messages}
        for path, texts in _loaded(driven, request.arrived).items():
            whole = set(texts) <= shown
            named = _is_named(request, path)
            event(f"whole: {whole}, named: {named}")
            assert whole or named or _is_previewed(driven, request, texts)


@given(threads())
def test_a_fold_names_no_skill_that_it_leaves_whole(scenario: Scenario) -> None:
    """Nothing is read twice because of a record."""
    driven = drive(scenario)
    for request in driven.requests:
        if not any(isinstance(edit, Fold) for edit in request.edits):
            continue
        shown = {m.text for m in request.messages}
        for path, texts in _loaded(driven, request.arrived).items():
            is_whole = set(texts) <= shown and path in _begun(driven, request.arrived)
            assert not (is_whole and _is_named(request, path))


def _begun(driven: Drive, upto: int) -> set[str]:
    """List the skills whose beginning was read: of others there are only later pages."""
    uses = [entry.answers for entry in driven.entries[:upto] if entry.answers]
    return {use.target for use in uses if use.target in PATHS and not use.scope}


@given(threads())
def test_loaded_skills_keep_within_their_share(scenario: Scenario) -> None:
    """What a fold keeps in addition to its tail and the latest request is at most a tenth."""
    driven = drive(scenario)
    budget = scenario.budget
    for edit in driven.engine.history:
        if isinstance(edit, Fold):
            kept = [driven.entries[p] for p in edit.kept if p in range(len(driven.entries))]
            skills = [e for e in kept if e.answers and e.answers.target in PATHS]
            tail = budget.tail(0)
            assert sum(e.tokens for e in skills) <= budget.skills(0) + tail
