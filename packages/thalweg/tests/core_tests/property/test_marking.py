"""Marks on the bodies of requests that others may have marked too: judged as Anthropic judges."""

import json
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from strict_llm.anthropic import AnthropicDialect
from strict_llm.cache import PromptCache
from strict_llm.counting import TokenCounter
from strict_llm.rules.anthropic import problems
from strict_llm.sealing import signature
from thalweg.context.request.cache_marks import CacheMarker
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.window.breakpoints import MAX_MARKS

Object = dict[str, Any]


@st.composite
def bodies(draw: st.DrawFn) -> Object:
    """Draw a valid body: strings or blocks, calls in a row, and up to four marks of others."""
    messages: list[Object] = []
    for n in range(draw(st.integers(1, 3))):
        said: Object = {"type": "text", "text": f"look {n}"}
        calls = draw(st.sampled_from([0, 1, 3, 25]))
        use = [
            {"type": "tool_use", "id": f"t{n}_{k}", "name": "ls", "input": {}} for k in range(calls)
        ]
        results = [
            {"type": "tool_result", "tool_use_id": f"t{n}_{k}", "content": "ok"}
            for k in range(calls)
        ]
        is_plain = draw(st.booleans())
        messages.append({"role": "user", "content": f"look {n}" if is_plain else [said]})
        thinking = {"type": "thinking", "thinking": "hm", "signature": signature("hm")}
        text = {"type": "text", "text": "I look."}
        messages.append({"role": "assistant", "content": [thinking, text, *use]})
        if results:
            messages.append({"role": "user", "content": results})
            messages.append({"role": "assistant", "content": "done"})
    messages.append({"role": "user", "content": "and now?"})
    body: Object = {"model": "m", "max_tokens": 10, "messages": messages}
    if draw(st.booleans()):
        body["tools"] = [{"name": "ls", "input_schema": {"type": "object"}}]
    if system := draw(st.sampled_from(["", "Be brief.", [{"type": "text", "text": "Be brief."}]])):
        body["system"] = system
    body = json.loads(json.dumps(body))
    holders = [*body.get("tools", ()), *(s for s in body.get("system", ()) if isinstance(s, dict))]
    holders += [
        block
        for message in messages_of(body)
        for block in message["content"]
        if isinstance(block, dict) and block["type"] != "thinking"
    ]
    number = draw(st.sampled_from([0, 1, 2, 3, 4]))
    order = st.integers(0, len(holders) - 1)
    chosen = sorted(draw(st.sets(order, min_size=min(number, 2, len(holders)), max_size=number)))
    if number < MAX_MARKS and draw(st.booleans()):
        chosen.append(len(holders))
    hours = draw(st.sampled_from([0, 1, len(chosen)]))
    for n, place in enumerate(chosen):
        mark = {"type": "ephemeral", "ttl": "1h" if n < hours else "5m"}
        (body if place == len(holders) else holders[place])["cache_control"] = mark
    return body


def messages_of(body: Object) -> list[Object]:
    found: list[Object] = body["messages"]
    return found


def marks_in(value: Any) -> int:  # noqa: ANN401 (JSON)
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(marks_in, value.values()))
    return sum(map(marks_in, value)) if isinstance(value, list) else 0


def bare(value: Any) -> Any:  # noqa: ANN401 (as above)
    if isinstance(value, dict):
        return {
            k: bare(
                [{"type": "text", "text": v}]
                if k in {"content", "system"} and isinstance(v, str)
                else v
            )
            for k, v in value.items()
            if k != "cache_control"
        }
    return [bare(one) for one in value] if isinstance(value, list) else value


def kept(theirs: Any, ours: Any) -> bool:  # noqa: ANN401 (as above)
    """Return whether every mark of theirs is in ours, in the same place."""
    if isinstance(theirs, dict):
        return all(
            ours["cache_control"] == v if k == "cache_control" else kept(v, ours[k])
            for k, v in theirs.items()
        )
    if isinstance(theirs, list):
        return all(kept(a, b) for a, b in zip(theirs, ours, strict=True))
    return True


@settings(max_examples=100)
@given(body=bodies(), tariff=st.sampled_from(["anthropic", "anthropic-1h"]), record=st.booleans())
def test_a_marked_body_is_as_valid_as_it_was(body: Object, tariff: str, *, record: bool) -> None:
    """At most four marks, longer lifetimes first, those of others in place, the rest unchanged."""
    before = json.dumps(body)
    made = CacheMarker().mark(body, TARIFFS[tariff], has_record=record)
    event(f"{marks_in(body)} of others, {marks_in(made)} in all")
    assert json.dumps(body) == before
    assert not [*problems(made)]
    assert marks_in(body) <= marks_in(made) <= 4
    assert bare(made) == bare(body)
    assert kept(body, made)


@given(body=bodies())
def test_the_same_request_is_marked_the_same(body: Object) -> None:
    """A request that is sent again has its marks in the same places."""
    marking = CacheMarker()
    first = marking.mark(body, TARIFFS["anthropic"])
    again = marking.mark(body, TARIFFS["anthropic"])
    assert marks_in(again) == marks_in(first)
    assert again == marking.mark(body, TARIFFS["anthropic"])


@given(body=bodies())
def test_a_request_that_ends_here_writes_nothing_new(body: Object) -> None:
    """There is no mark after what was sent already."""
    marking = CacheMarker()
    marking.mark(body, TARIFFS["anthropic"])
    more = {**body, "messages": [*messages_of(body), {"role": "assistant", "content": "asked"}]}
    made = marking.mark(more, TARIFFS["anthropic"], is_continued=False)
    assert made["messages"][-1] == {"role": "assistant", "content": "asked"}


def test_reasoning_blank_texts_and_what_code_called_take_no_mark() -> None:
    """The block before them does, or none."""
    code = {"type": "code_execution_20250825", "tool_id": "s1"}
    content: list[Object] = [
        {"type": "text", "text": "look"},
        {"type": "text", "text": " "},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "t", "name": "ls", "input": {}, "caller": code},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    ]
    body: Object = {"system": " ", "messages": [{"role": "user", "content": content}]}
    made = CacheMarker().mark(body, TARIFFS["anthropic"])
    assert made["system"] == " "
    assert ["cache_control" in block for block in made["messages"][0]["content"]] == [True] + [
        False
    ] * 4


def test_after_a_rewrite_the_end_of_what_stayed_is_marked() -> None:
    """The last request is remembered: the entries before the change are within the look-back."""
    messages: list[Object] = [
        {"role": ("user", "assistant")[n % 2], "content": f"message {n}"} for n in range(61)
    ]
    marking = CacheMarker()
    marking.mark({"messages": messages}, TARIFFS["anthropic"])
    messages[20] = {"role": "user", "content": "cleared"}
    made = marking.mark({"messages": messages}, TARIFFS["anthropic"])
    assert marks_in(made["messages"][19]) == 1


RESTS = st.lists(st.sampled_from([10.0, 200.0, 400.0, 3_000.0, 4_000.0]), max_size=12)


@settings(max_examples=100)
@given(body=bodies(), waits=RESTS)
def test_pauses_change_lifetimes_and_nothing_else(body: Object, waits: list[float]) -> None:
    """A body after any pauses is valid, with marks where they are without a clock."""
    timed, plain, now = CacheMarker(), CacheMarker(), 0.0
    for wait in waits:
        now += wait
        made = timed.mark(body, TARIFFS["anthropic"], now=now)
        assert not [*problems(made)]
        assert made == plain.mark(body, TARIFFS["anthropic"]) or '"1h"' in json.dumps(made)
        assert marks_in(made) == marks_in(plain.mark(body, TARIFFS["anthropic"]))


def paid(waits: list[float], *, timed: bool) -> tuple[float, int]:
    """Return the cost of a thread's requests at the strict double, and the tokens of its prefix."""
    dialect, counter, cache, marker = (
        AnthropicDialect(),
        TokenCounter(),
        PromptCache(),
        CacheMarker(),
    )
    body: Object = {
        "system": "Never move what nobody asked for. " * 500,
        "messages": [{"role": "user", "content": "Begin. " * 600}],
    }
    now, cost = 0.0, 0.0
    for wait in (0.0, *waits):
        now += wait
        made = marker.mark(body, TARIFFS["anthropic"], now=now if timed else None)
        spent = dialect.spend(cache, "m", counter.measure(dialect.pieces(made), 1.0), now)
        plain = spent.input - spent.cached - spent.written_5m - spent.written_1h
        cost += 0.1 * spent.cached + 1.25 * spent.written_5m + 2.0 * spent.written_1h + plain
        answer = {"role": "assistant", "content": "Done."}
        body = {**body, "messages": [*body["messages"], answer, {"role": "user", "content": "On."}]}
    prefix = counter.measure(dialect.pieces({**body, "messages": []}), 1.0).total
    return cost, prefix


def test_rests_make_the_prefix_live_an_hour_and_long_pauses_do_not() -> None:
    """With rests of ten minutes an hour is cheaper; over night it would not be."""
    rests, nights = [600.0, 60.0] * 6, [40_000.0, 60.0] * 6
    assert paid(rests, timed=True)[0] < 0.8 * paid(rests, timed=False)[0]
    assert paid(nights, timed=True) == paid(nights, timed=False)


@settings(max_examples=50, deadline=None)
@given(waits=RESTS)
def test_what_pauses_may_cost_more_is_bounded(waits: list[float]) -> None:
    """The most that can be lost is a dearer write of the prefix for each rest before it."""
    cost, prefix = paid(waits, timed=True)
    least, _ = paid(waits, timed=False)
    rests = sum(300 < wait <= 3_600 for wait in waits)
    assert cost <= least + 0.75 * prefix * (1 + 2 * rests) + 1
