"""Shortening ends: in a request that fits, or in an error message."""

import pytest

from core_tests.unit.engine.threads import call, result, run, says, scene, steps, system, user
from thalweg.engine.compaction.hard_limit import exceeds_limit, reduce_to_limit
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.rewrites import evict
from thalweg.engine.edits import Evict, Fold, Pin
from thalweg.engine.entries import Media, Message, Role, Text, Thinking, ToolCall
from thalweg.errors import WindowExceededError


@pytest.mark.parametrize("spare", [-900, -3, -2, -1, 0, 1, 2, 3, 40])
def test_a_system_prompt_that_fills_the_window_is_an_error_in_words(spare: int) -> None:
    """Whether it is larger, exact or a little smaller: never another error."""
    limit = 3_500
    prompt = "x" * (4 * (limit - 4 - spare))

    thread = (system(prompt), user("Hello there, please help me."), *[says("Hm. " * 40)] * 3)
    tight = scene(*thread)

    with pytest.raises(WindowExceededError) as caught:
        _apply_all(tight)

    assert caught.value.needed > caught.value.window == limit
    assert caught.value.irreducible[0].startswith("system")
    assert "use a larger window" in str(caught.value)


def _apply_all(tight: PlanningContext) -> None:
    for edits in reduce_to_limit(tight):
        tight.window.apply(edits)


def test_nothing_is_done_where_nothing_is_wrong() -> None:
    """A request that fits yields no edit."""
    assert list(reduce_to_limit(scene(user("Hi")))) == []


def test_reasoning_stays_in_front_of_a_preview() -> None:
    """A message of the model keeps its beginning, its calls remain last."""
    thought, asked = Thinking("t", "s", '{"anthropic":{}}'), ToolCall("c", "Bash", "{}")
    spoken = Message("assistant", (thought, Text("word " * 3_000), asked))
    s = scene(user("Go"), spoken, result("c"))

    edit = evict(s, s.window.entries[1], 100, "the request would not fit")

    assert edit.parts[0] == thought
    assert isinstance(edit.parts[1], Text)
    assert edit.parts[2:] == (asked,)


def test_a_preview_has_the_lines_of_the_values_of_its_call_not_of_its_names() -> None:
    log = "\n".join(
        f"{n} {({300: 'the harbor', 400: 'the ferry', 500: 'the quay'}).get(n, 'ok')}"
        for n in range(900)
    )
    asked = call("c", "read_harbor", '{"path": "north", "ferry": "quay"}')
    s = scene(user("Go"), asked, result("c", log))

    text = evict(s, s.window.entries[2], 300, "the request would not fit").parts[0]

    assert isinstance(text, Text)
    assert "500 the quay" in text.text
    assert "the harbor" not in text.text
    assert "the ferry" not in text.text


def test_a_shortened_request_keeps_its_pins() -> None:
    """Even where constraints have to go."""
    quote = "Port 8443 it is."
    pin = Pin(reason="asked for", turn=0, tokens_before=0, tokens_after=0, position=0, quote=quote)
    lines = [f"{n} cannot open" for n in range(900)]
    s = scene(user("\n".join([*lines, quote, *lines])))
    s.window.apply([pin])

    edit = evict(s, s.window.entries[0], 100, "the request would not fit")

    assert isinstance(edit.parts[0], Text)
    assert edit.parts[0].text.count(quote) == 1
    assert edit.tokens_after < 200


def test_a_picture_left_out_of_a_request_has_a_handle() -> None:
    """However short the words next to it are."""
    s = scene(Message("user", (Text("Look"), Media("image/png", "AAAA"))))

    edit = evict(s, s.window.entries[0], 100, "the request would not fit")

    assert isinstance(edit.parts[0], Text)
    assert 'recall(handle="0-0")' in edit.parts[0].text
    assert "Look" in edit.parts[0].text


@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_preview_names_the_media_that_left(role: Role) -> None:
    """Wherever they are in a long text; a message of media alone has no preview of a text."""
    picture, words = Media("image/png", "AAAA"), Text("many words\n" * 900)
    s = scene(user("Go"), call("c"), Message(role, (words, picture, words), answers="c"))
    edit = evict(s, s.window.entries[2], 200, "the request would not fit")
    assert isinstance(edit.parts[0], Text)
    line = '[image/png, 3 bytes moved to the archive; recall(handle="2-2")]'
    assert edit.parts[0].text.endswith(f"\n{line}")
    assert edit.tokens_after < 250

    s = scene(user("Go"), call("c"), Message(role, (picture, picture), answers="c"))
    edit = evict(s, s.window.entries[2], 200, "the request would not fit")
    both = "image/png, 3 bytes; image/png, 3 bytes"
    assert edit.parts == (Text(f'[{both} moved to the archive; recall(handle="2-2")]'),)


def test_a_second_preview_frees_what_the_first_one_took() -> None:
    """The ledger of edits adds up."""
    s = scene(user("Go"), call("c"), result("c", "long words " * 2_000))
    entry = s.window.entries[2]
    before = s.window.tokens
    first = evict(s, entry, 400, "the request would not fit")
    s.window.apply([first])
    second = evict(s, entry, 130, "the request would not fit")
    s.window.apply([second])

    assert before - s.window.tokens == first.freed + second.freed


def test_bytes_and_media_are_ceilings_of_their_own() -> None:
    """Images go to the archive although tokens are few."""
    picture = Media("image/png", "A" * 90)
    shown = [Message("user", (Text(f"Picture {n}"), picture)) for n in range(3)]
    s = scene(*shown, window=40_000, max_media=1)
    for edits in reduce_to_limit(s):
        s.window.apply(edits)

    assert not exceeds_limit(s)
    assert s.window.ledger.media <= 1


def test_one_oversized_result_in_the_last_batch_is_shortened_where_it_stands() -> None:
    """Folding cannot help there; the exchange remains whole."""
    driven = run([user("Go"), *steps(3), call("c"), result("c", "ü" * 60_000)])

    assert driven.stopped is None
    assert any(isinstance(e, Evict) for e in driven.engine.history)


def test_a_goal_that_is_a_paste_of_constraints_does_not_end_the_thread() -> None:
    """Every line of the pasted log has `cannot`; records remain bounded all the same."""
    paste = "Fix this:\n" + "\n".join(f"{n}: cannot open file, do not retry" for n in range(2_000))
    driven = run([user(paste), *steps(40, 40), user("And now?"), *steps(10, 40)])

    assert driven.stopped is None
    folds = [e for e in driven.engine.history if isinstance(e, Fold)]
    assert folds
    assert all(f.tokens_after <= driven.engine.budget.record(0) + 4 for f in folds)
