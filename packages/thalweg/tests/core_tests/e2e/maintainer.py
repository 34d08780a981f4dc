"""A model that fixes a shop: its next step follows from the request it is sent, and nothing else.

It has no memory of its own. What a compaction took from its sight it sees in the record, reads
again, or asks `recall` for, as an agent has to.
"""

import json
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core_tests.e2e.shop import PARTS
from core_tests.strict_requests import messages_of
from strict_llm import Answer, Request

CONSTRAINTS = (
    "Never change anything under /tests or /vendor.",
    "Change the code only where a page in /docs or a failing test says so.",
)
TICKET = "SHOP-{number}"
REQUEST = """\
The tests of this repository fail since the pages in /docs were brought up to date. Make them pass.

{constraints}

When all of them pass, add one line to /CHANGELOG.md, as /CONTRIBUTING.md says, with the ticket
{ticket} in it. Give the part called reports to the mender: it is to be done away from here."""
MAINTAINER = "You maintain the repository of a shop."
MENDER = "You mend one part of a shop and report in one line."
MENDED_ELSEWHERE = "reports"
PLAN_LINE = re.compile(r"(pending|in_progress|completed): (?:mend|write) (\w+)")
LAST = "CHANGELOG"


@dataclass(frozen=True)
class Step:
    """A call that can be seen, with its result."""

    at: int
    """Its place among the messages."""
    name: str
    arguments: dict[str, Any]
    result: str

    @property
    def about(self) -> str:
        """The path or the command."""
        return str(self.arguments.get("file_path") or self.arguments.get("command") or "")


@dataclass(frozen=True)
class Sight:
    """What a request shows."""

    users: str
    everything: str
    steps: Sequence[Step]

    def last(self, name: str, about: str, result: str = "", since: int = -1) -> Step | None:
        """Find the newest call of a tool about something, with such a result."""
        fitting = (
            step
            for step in reversed(self.steps)
            if step.name == name
            and step.at > since
            and about in step.about
            and re.search(result, step.result, re.MULTILINE)
        )
        return next(fitting, None)


def see(request: Request) -> Sight:
    """Read a request."""
    results = {m.answers: m.text for m in messages_of(request) if m.role == "tool"}
    steps = [
        Step(at, call.name, json.loads(call.arguments or "{}"), results.get(call.id, ""))
        for at, message in enumerate(messages_of(request))
        for call in message.calls
    ]
    users = "\n".join(m.text for m in messages_of(request) if m.role == "user")
    return Sight(users, "\n".join(m.text for m in messages_of(request)), steps)


def is_menders(request: Request) -> bool:
    """Return whether a request is the subagent's."""
    return any(m.role == "system" and MENDER in m.text for m in messages_of(request))


def is_summary(request: Request) -> bool:
    """Return whether a request is for a summary, not for a next step."""
    return not request.tools or "[This is not the user speaking.]" in messages_of(request)[-1].text


def answer(request: Request) -> Answer:
    """Return the model's answer."""
    if is_summary(request):
        return Answer(
            "## Goal\n- Make the tests of the shop pass.\n## Next\n- Go on with the plan."
        )
    sight = see(request)
    if is_menders(request):
        part = re.findall(r"Your part: (\w+)", sight.users)[0]
        return fix(part, sight) or Answer(f"{part}: its tests pass now.")
    return maintain(sight)


def maintain(sight: Sight) -> Answer:
    """Plan, then do the next step of the plan."""
    plan = planned(sight)
    if not plan:
        return begin(sight)
    current = next((name for name, state in plan.items() if state != "completed"), None)
    if current is None:
        return Answer("All tests pass, and the change is in CHANGELOG.md.")
    if current == MENDED_ELSEWHERE:
        doing = delegate(current, sight)
    elif current == LAST:
        doing = conclude(sight)
    else:
        doing = fix(current, sight)
    return doing or write_plan({**plan, current: "completed"})


def planned(sight: Sight) -> dict[str, str]:
    """Find the plan: in the newest call that wrote it, or in the record."""
    written = next((step for step in reversed(sight.steps) if step.name == "write_todos"), None)
    if written is not None and isinstance(written.arguments.get("todos"), list):
        lines = "\n".join(f"{t['status']}: {t['content']}" for t in written.arguments["todos"])
    else:
        lines = sight.users
    return {name: state for state, name in PLAN_LINE.findall(lines)}


def write_plan(states: dict[str, str]) -> Answer:
    """Write the plan down, with the first remaining item in progress."""
    left = [name for name, state in states.items() if state != "completed"]
    todos = [
        {
            "content": f"{'write' if name == LAST else 'mend'} {name}",
            "status": "completed"
            if name not in left
            else "pending"
            if name != left[0]
            else "in_progress",
        }
        for name in states
    ]
    return Answer("", (("write_todos", {"todos": todos}),))


def begin(sight: Sight) -> Answer:
    """Look around, and plan."""
    if sight.last("execute", "unittest") is None:
        return run_tests()
    if sight.last("read_file", "/CONTRIBUTING.md") is None:
        return Answer("", (("read_file", {"file_path": "/CONTRIBUTING.md"}),))
    listed = next((step for step in sight.steps if step.name == "ls"), None)
    if listed is None:
        return Answer("Let me see what there is.", (("ls", {"path": "/shop"}),))
    parts = [name for name in re.findall(r"/shop/(\w+)\.py", listed.result) if name in PARTS]
    return write_plan(dict.fromkeys([*parts, LAST], "pending"))


def fix(part: str, sight: Sight) -> Answer | None:
    """Make the tests of a part pass; `None` once they are seen to."""
    path, page = f"/shop/{part}.py", f"/docs/{part}.md"
    edited = sight.last("edit_file", path, "Successfully")
    since = edited.at if edited else -1
    ran = sight.last("execute", f"tests.test_{part}", r"^(OK|FAILED)", since)
    if ran is None:
        return run_tests(part)
    if re.search(r"^OK", ran.result, re.MULTILINE):
        return None
    source = sight.last("read_file", path, "= ", since)
    if source is None:
        return Answer("", (("read_file", {"file_path": path}),))
    in_force = sight.last("read_file", page, "^.*In force")
    if in_force is None:
        return Answer("", (("read_file", {"file_path": page}),))
    return Answer("", (("edit_file", change(part, path, source.result, in_force.result)),))


def change(part: str, path: str, source: str, page: str) -> dict[str, str]:
    """Return what is to be changed: the setting that the page states, else a slip in the code."""
    found = re.search(r"In force: (\w+) = (\d+)", page)
    line = re.search(r"\w+ = (\d+)  # docs", source)
    assert found
    assert line
    setting, value = found.groups()
    if line[1] != value:
        return {
            "file_path": path,
            "old_string": f"{setting} = {line[1]}",
            "new_string": f"{setting} = {value}",
        }
    wrong, right = PARTS[part].slip
    assert wrong, f"{part} is as it should be, and its tests fail"
    return {"file_path": path, "old_string": wrong, "new_string": right}


def delegate(part: str, sight: Sight) -> Answer | None:
    """Let the subagent do it; `None` once its report is there."""
    report = next((s for s in reversed(sight.steps) if s.name == "task"), None)
    if report is not None:
        assert "pass" in report.result, report.result
        return None
    words = f"Your part: {part}. Make its tests pass. {' '.join(CONSTRAINTS)}"
    return Answer("", (("task", {"description": words, "subagent_type": "mender"}),))


def conclude(sight: Sight) -> Answer | None:
    """Write the line of the release; `None` once it is written and all tests pass."""
    ticket = re.search(r"the ticket\s+(SHOP-\d+)", sight.users)
    assert ticket, "the user's ticket cannot be seen any more"
    written = sight.last("edit_file", "/CHANGELOG.md", "Successfully")
    if written is None:
        release = re.search(r"is called '(heron-\d+)'", sight.everything)
        if release is None:
            asked = [step for step in sight.steps if step.name == "recall"]
            assert not asked, f"not found again: {asked[-1].result}"
            return Answer("", (("recall", {"query": "what is the release in the making called"}),))
        if sight.last("read_file", "/CHANGELOG.md", "begun") is None:
            return Answer("", (("read_file", {"file_path": "/CHANGELOG.md"}),))
        line = f"- begun\n- {ticket[1]}: the code says what the pages say, {release[1]}"
        edit = {"file_path": "/CHANGELOG.md", "old_string": "- begun", "new_string": line}
        return Answer("", (("edit_file", edit),))
    ran = sight.last("execute", "unittest", r"^(OK|FAILED)", written.at)
    if ran is None:
        return run_tests(tail=4)
    assert re.search("^OK", ran.result, re.MULTILINE), ran.result
    return None


def run_tests(part: str = "", tail: int = 0) -> Answer:
    """Run the tests, all of them or those of one part."""
    command = (
        f"{shlex.quote(sys.executable)} -m unittest {f'tests.test_{part}' if part else ''} 2>&1"
    )
    return Answer("", (("execute", {"command": command + (f" | tail -{tail}" if tail else "")}),))
