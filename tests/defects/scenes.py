"""The scenes: each leads one agent to a point at which context engines have been seen to fail.

A scene returns whether the fault shows, and its figures in a few words.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from tests.defects.talks import Side, Talk, call, family, file_call, shown_handles, tokens_of
from thalweg.context.request.messages import read_state
from thalweg.engine.window.items import check
from thalweg.errors import StorageError


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a scene."""

    shows: bool
    """Whether the fault shows."""
    told: str


NEEDLE = "needle-7f3a"
CODE = 'if a < b && c > d: print("<done> & dusted")  # it\'s here'


def _lines(n: int, count: int = 100) -> str:
    return "\n".join(f"record {n}.{k}: value {k * 7919 % 10_007}" for k in range(count))


@tool
def fetch(n: int) -> str:
    """Fetch a page of records."""
    return _lines(n)


@tool
def dump(kind: str) -> str:
    """Dump a table: `long` as one long line, any other name as many lines."""
    if kind == "long":
        words = " ".join(f"w{k}" for k in range(40_000))
        return f"{words[:200_000]} {NEEDLE} {words[:56_980]}"
    return f"table {kind}\n" + "\n".join(f"{kind} row {k} of many" for k in range(9_000))


def _works(
    turns: int, step: Callable[[int], AIMessage]
) -> Callable[[Sequence[BaseMessage]], AIMessage]:
    """Make a script that calls one tool a turn, so often, after every request."""
    left = [0]

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].type != "tool":
            left[0] = turns
        left[0] -= 1
        return step(left[0]) if left[0] >= 0 else AIMessage("Done.")

    return script


def archive_keeps_every_byte(side: Side, folder: Path) -> Outcome:
    """B: what is compacted can be found in the archive word for word."""
    content = f"BEGIN {NEEDLE}-argument " + "x y z " * 600 + "END-OF-ARGUMENT"

    def step(n: int) -> AIMessage:
        if n == 29:
            return call("write_file", "call_write", file_path="/a.txt", content=content)
        return call("fetch", f"call_fetch_{n}", n=n)

    with Talk(side, folder, _works(30, step), tools=[fetch]) as talk:
        talk.say(f"Please remember this line:\n{CODE}")
        talk.say("And go on.")
        held = talk.archived()
    lost = [
        what
        for what, words in (
            ("arguments", "END-OF-ARGUMENT"),
            ("text", CODE),
            ("ids of results", "call_fetch_20"),
        )
        if words not in held
    ]
    return Outcome(bool(lost), f"not found: {', '.join(lost)}" if lost else "all found")


def long_lines_can_be_read(side: Side, folder: Path) -> Outcome:
    """C: every character of a result of 257,000 on one line can be read or searched."""
    asked: list[str] = []
    ways: list[AIMessage] = []

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].type != "tool":
            return call("dump", "call_dump", kind="long")
        if not asked:
            asked.extend(shown_handles(messages)[:1])
            ways.extend(_ways(side, asked[0]) if asked else [])
        return ways.pop(0) if ways else AIMessage("Done.")

    with Talk(side, folder, script, window=200_000, tools=[dump]) as talk:
        talk.say("Find the needle.")
        found = any(NEEDLE in message.text for sent in talk.sent for message in sent)
        cost = max(map(tokens_of, talk.sent))
    return Outcome(not found, f"{'found' if found else 'never seen'}, {cost} tokens at most")


def _ways(side: Side, handle: str) -> list[AIMessage]:
    if side == "ours":
        return [
            call("recall", handle=handle, chars=[199_900, 200_100]),
            call("recall", handle=handle, query=NEEDLE),
        ]
    return [
        call("read_file", file_path=handle, offset=0, limit=1),
        call("read_file", file_path=handle, offset=1, limit=100),
        call("grep", pattern=NEEDLE, path=handle, output_mode="content"),
    ]


def prefix_stays(side: Side, folder: Path) -> Outcome:
    """D: between compactions a request only grows, so that the provider's cache is read.

    With the preset `careful`: `balanced` replaces large arguments as soon as they are outside its
    tail of 1,000 tokens, which rewrites the last two or three messages in most calls of this scene.
    """

    def step(n: int) -> AIMessage:
        if n % 4 == 0:
            return call("fetch", n=n)
        return call("write_file", file_path=f"/f{n}.txt", content=_lines(n, 300))

    with Talk(
        side, folder, _works(150, step), window=60_000, tools=[fetch], cost="careful"
    ) as talk:
        talk.say("Work through the records.")
        rows = [[_row(message) for message in sent] for sent in talk.sent]
    changed, read, total = 0, 0, 0
    for before, after in pairwise(rows):
        pairs = zip(before, after, strict=False)
        same = next((k for k, (a, b) in enumerate(pairs) if a != b), len(before))
        changed += same < len(before)
        read += sum(map(len, after[:same]))
        total += sum(map(len, after))
    share = changed / (len(rows) - 1)
    return Outcome(
        share > 0.2, f"prefix changed in {share:.0%} of calls, {read / total:.1%} cached"
    )


def _row(message: BaseMessage) -> str:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return json.dumps([message.type, message.content, calls], default=str)


def injected_memory_counts(side: Side, folder: Path) -> Outcome:
    """E: what is injected into a request counts, and no request is over the window."""
    memory = "The user likes short answers and long walks. " * 900
    with Talk(
        side, folder, _works(40, lambda n: call("fetch", n=n)), tools=[fetch], memory=memory
    ) as talk:
        talk.say("Work through the records.")
        largest = max(map(tokens_of, talk.sent))
    return Outcome(largest > talk.window, f"{largest} tokens sent, the window is {talk.window}")


def reused_ids_are_apart(side: Side, folder: Path) -> Outcome:
    """F: two large results under one call id can both be read back."""
    kinds = iter(("first", "second"))
    handles: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].type == "tool":
            handles.extend(shown_handles(messages[-1:])[:1])
        if (kind := next(kinds, "")) != "":
            return call("dump", "call_0", kind=kind)
        if handles:
            handle = handles[0]
            handles.clear()
            if side == "ours":
                return call("recall", "call_r", handle=handle, lines=[1, 3])
            return call("read_file", "call_r", file_path=handle, offset=0, limit=3)
        return AIMessage("Done.")

    with Talk(side, folder, script, window=200_000, tools=[dump]) as talk:
        talk.say("Dump both tables, then look at the first again.")
        read = talk.results()[-1]
    told = "the second table" if "second row" in read else "the first table"
    return Outcome("first row" not in read, f"the first handle reads {told}")


def deleting_leaves_pairs(side: Side, folder: Path) -> Outcome:
    """G: when an old message is deleted, no result remains without its call."""
    with Talk(side, folder, _works(30, lambda n: call("fetch", n=n)), tools=[fetch]) as talk:
        talk.say("Work through the records.")
        talk.delete_oldest_answer()
        before = len(talk.sent)
        talk.say("And now?")
        problems = check(read_state(talk.sent[before]))
    odd = [problem for problem in problems if "result" in problem]
    return Outcome(bool(odd), odd[0] if odd else "valid")


def nothing_goes_unarchived(side: Side, folder: Path) -> Outcome:
    """H1: if the archive fails, nothing is dropped from the context."""
    works = _works(30, lambda n: call("fetch", n=n))
    with Talk(side, folder, works, tools=[fetch], archive_fails=True) as talk:
        try:
            talk.say(f"Work through the records; the word is {NEEDLE}.")
        except StorageError:
            return Outcome(shows=False, told="the error was raised before anything was sent")
        dropped = not any(NEEDLE in message.text for message in talk.sent[-1])
    return Outcome(dropped, "compacted, and archived nowhere" if dropped else "nothing dropped")


def failing_summary_is_survived(side: Side, folder: Path) -> Outcome:
    """H2: a summary that raises does not end the run."""

    def fails() -> str:
        msg = "the summarizer is down"
        raise RuntimeError(msg)

    works = _works(30, lambda n: call("fetch", n=n))
    with Talk(side, folder, works, tools=[fetch], summary=fails) as talk:
        try:
            talk.say("Work through the records.")
        except RuntimeError as error:
            return Outcome(shows=True, told=f"the run died: {error}")
        return Outcome(shows=False, told=f"went on after {talk.summaries} failures")


def empty_summary_is_refused(side: Side, folder: Path) -> Outcome:
    """H3: if a summary is empty, the goal remains in the context."""
    works = _works(30, lambda n: call("fetch", n=n))
    with Talk(side, folder, works, tools=[fetch], summary=lambda: "") as talk:
        talk.say(f"Work through the records; the word is {NEEDLE}.")
        kept = any(NEEDLE in message.text for message in talk.sent[-1])
    return Outcome(not kept, "the goal stayed" if kept else "the goal is gone")


def cut_arguments_count_as_sent(side: Side, folder: Path) -> Outcome:
    """I: arguments that are sent short count short, also where content blocks repeat them."""
    folds: list[int] = []
    for repeated in (False, True):

        def step(n: int, *, repeated: bool = repeated) -> AIMessage:
            content, uid = _lines(n, 120), f"toolu_{n}"
            arguments = {"file_path": f"/{repeated}/{n}.txt", "content": content}
            block = {"type": "tool_use", "id": uid, "name": "write_file", "input": arguments}
            made = [{"id": uid, "name": "write_file", "args": arguments}]
            return AIMessage([block] if repeated else "", tool_calls=made)

        place = folder / str(repeated)
        place.mkdir()
        with Talk(side, place, _works(90, step), window=40_000) as talk:
            talk.say("Write the files.")
            sizes = list(map(tokens_of, talk.sent))
        folds.append(talk.summaries if side == "deepagents" else _drops(sizes))
    return Outcome(folds[1] > folds[0], f"{folds[1]} folds, without the blocks {folds[0]}")


def _drops(sizes: Sequence[int]) -> int:
    return sum(after < before for before, after in pairwise(sizes))


def edits_merge(side: Side, folder: Path) -> Outcome:
    """A: what agents do to files side by side is all there after, deletes too."""
    del folder  # the files are in the agent's state
    first = file_call("edit_file", "/a", old_string="first", new_string="1st")
    second = file_call("edit_file", "/a", old_string="second", new_string="2nd")
    other = file_call("edit_file", "/b", old_string="first", new_string="1st")
    both = {"/a": "1st 2nd", "/b": "first second"}
    scenes: dict[str, tuple[list[Any], dict[str, Any], dict[str, str]]] = {
        "two subagents, two files": (
            ["one", "two"],
            {"one": first, "two": other},
            {"/a": "1st second", "/b": "1st second"},
        ),
        "two subagents, one file": (["one", "two"], {"one": first, "two": second}, both),
        "an edit beside a subagent": ([first, "two"], {"two": second}, both),
        "a subagent's delete": (
            ["one"],
            {"one": file_call("delete", "/b")},
            {"/a": "first second"},
        ),
    }
    lost = [
        name
        for name, (main, children, files) in scenes.items()
        if family(side, main, children) != files
    ]
    return Outcome(bool(lost), f"lost with {'; '.join(lost)}" if lost else "nothing was lost")


SCENES: dict[str, Callable[[Side, Path], Outcome]] = {
    "A edits side by side merge": edits_merge,
    "B archive keeps every byte": archive_keeps_every_byte,
    "C long lines can be read": long_lines_can_be_read,
    "D the prefix stays": prefix_stays,
    "E injected memory counts": injected_memory_counts,
    "F reused ids are apart": reused_ids_are_apart,
    "G deleting leaves pairs": deleting_leaves_pairs,
    "H1 nothing goes unarchived": nothing_goes_unarchived,
    "H2 a failing summary is survived": failing_summary_is_survived,
    "H3 an empty summary is refused": empty_summary_is_refused,
    "I cut arguments count as sent": cut_arguments_count_as_sent,
}
