"""Tasks as agents have them: code, documents, records and users, with a driver for each.

They were written without knowledge of the policies of compaction (`docs/harm.md`, "Worlds written
blind, first run"). A task is a list of steps; the driver finds the number of the next one in its
own words, and each fact that a step needs in its request, or calls a tool to read it again.

- `configs`: reads configuration files, searches logs, then edits some of the files.
- `bughunt`: searches, reads modules, then runs tests after each fix; the last is in the first file.
- `reports`: reads a long report and then another one, and compares their figures.
- `pages`: collects records page by page, writes a table of all, then corrects some rows.
- `support`: answers tickets from customers, orders and policies; some refer to earlier tickets.
- `research`: reads articles with a note of each, then writes sections that quote the notes.
- `migration`: changes many files; then tests fail in early ones, after they were changed.
- `requirements`: a user gives prices, changes them in between, and returns to the first ones.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from math import exp, log
from random import Random
from typing import Any

from benchmarks.worlds import texts
from benchmarks.worlds.driver import Mode, joined, lookup, progress
from benchmarks.worlds.engine import Whole, play
from benchmarks.worlds.worlds import World
from thalweg_evals.moves import Respond, Use, View
from thalweg_evals.trace import TracedCall, written

GOAL = 60
"""Characters of the first request without which the driver does not know what to do."""
LEAST, MOST, SHARE = 300, 8_000, 0.1
"""Limits of one text in tokens, and most of the window that it fills."""
OVERHEAD = 1_500
"""Tokens of a request that are no messages: the system prompt and the tools."""
UNITS, TRIES = 8, 12
"""The first number of units of a task, and how often it is adjusted to the window."""
CLOSE = 0.03
"""How near to the requested size a task has to be, as a share of it."""

Step = Callable[["Sight"], Respond | Use]
Need = tuple[Use, str]
"""A call that returns a fact, and the pattern of the fact, by which any text is recognized."""


class MissingError(Exception):
    """Facts are not in the request.

    Args:
        needs: Those that are missing.
    """

    def __init__(self, needs: Sequence[Need]) -> None:
        super().__init__()
        self.needs = needs


@dataclass(slots=True)
class Sight:
    """What a driver sees in its request."""

    view: View
    texts: Sequence[str]
    """The messages with the arguments of their calls, oldest first."""
    is_stale: bool
    """Whether what it saw was wrong, so that it reads everything again."""

    def need(self, *needs: Need) -> list[re.Match[str]]:
        """Return the newest match of each fact.

        Raises:
            MissingError: Some are not in sight.
        """
        found = [self.find(pattern) for _, pattern in needs]
        if None in found:
            pairs = zip(needs, found, strict=True)
            raise MissingError([need for need, one in pairs if one is None])
        return [one for one in found if one is not None]

    def latest(self, use: Use, pattern: str) -> re.Match[str]:
        """Return the match in the newest result of a call.

        Raises:
            MissingError: It is not in sight.
        """
        ids = [call.id for m in self.view.messages for call in m.calls if _is_call(use, call)]
        results = [m.text for m in self.view.messages if m.answers and m.answers in ids[-1:]]
        found = _last(pattern, results[-1]) if results else None
        if found is None:
            raise MissingError([(use, pattern)])
        return found

    def find(self, pattern: str) -> re.Match[str] | None:
        """Return the newest match in any message; `None` also if everything is read again."""
        if self.is_stale:
            return None
        matches = (_last(pattern, text) for text in reversed(self.texts))
        return next((one for one in matches if one is not None), None)


@lru_cache(maxsize=100_000)
def _last(pattern: str, text: str) -> re.Match[str] | None:
    found = None
    for found in re.finditer(pattern, text):  # noqa: B007 (the last one is returned)
        pass
    return found


def _is_call(use: Use, call: TracedCall) -> bool:
    return (call.name, call.arguments) == (use.tool, use.arguments)


@dataclass(frozen=True, slots=True)
class Task:
    """A world, and the steps of its driver."""

    world: World
    steps: Sequence[Step]


def decide_task(view: View, task: Task, mode: Mode = "own") -> Respond | Use:
    """Return the driver's move for a request.

    Args:
        view: The request.
        task: Its steps.
        mode: How missing content is looked up. With `own`, a context's search is used only if the
            same call was just made and its result does not show the content.
    """
    texts_seen = [written(message) for message in view.messages]
    if not any(task.world.request[:GOAL] in text for text in texts_seen):
        return Respond("I do not see what I have to do.")
    steps = len(task.steps)
    done, _ = progress(texts_seen)
    newest = view.messages[-1]
    is_failed = newest.role == "tool" and newest.text.startswith("Error: ") and done > 0
    number = done if is_failed else done + 1
    if number > steps:
        return Respond(f"All {steps} steps are done.")
    try:
        move = task.steps[number - 1](Sight(view, texts_seen, is_failed))
    except MissingError as missing:
        return _lookup(view, missing.needs, mode, number, steps, is_failed=is_failed)
    return replace(move, text=f"Step {number} of {steps}: {move.text}")


def _lookup(
    view: View, needs: Sequence[Need], mode: Mode, number: int, steps: int, *, is_failed: bool
) -> Use:
    text = f"Before step {number} of {steps} I read again what I do not see."
    if is_failed:
        text = f"Step {number} failed: the text has changed, I read it again."
    before = next((m for m in reversed(view.messages) if m.role == "assistant"), None)
    calls = before.calls if before is not None and view.messages[-1].role == "tool" else ()
    tried = any(_is_call(use, call) for use, _ in needs for call in calls)
    if tried and not is_failed:
        mode = "recall"
    words = [(use, _word(pattern)) for use, pattern in needs]
    return lookup(view, words, mode, text)


def _word(pattern: str) -> str:
    """Return the longest literal word of a pattern: what a search can find."""
    words: list[str] = re.findall(r"(?<!\\)[A-Za-z][\w-]{2,}", pattern)
    return max(words, key=len)


# --- what tasks have in common


@dataclass(slots=True)
class _Files:
    """Files with the tools of a coding agent."""

    texts: dict[str, str]
    commands: dict[str, Callable[[], str]] = field(default_factory=dict)

    def read(self, file_path: str) -> str:
        """Read a file, with the numbers of its lines."""
        lines = self.texts[file_path].splitlines()
        return "\n".join(f"{k:6}\t{line}" for k, line in enumerate(lines, 1))

    def edit(self, file_path: str, old_string: str, new_string: str) -> str:
        """Replace a text in a file; it must be there exactly once."""
        text = self.texts[file_path]
        if text.count(old_string) != 1:
            return f"Error: string to replace was found {text.count(old_string)} times in the file."
        self.texts[file_path] = text.replace(old_string, new_string)
        at = text[: text.index(old_string)].count("\n")
        shown = self.read(file_path).splitlines()[max(0, at - 2) : at + 3]
        return f"The file {file_path} has been updated:\n" + "\n".join(shown)

    def grep(self, pattern: str) -> str:
        """Return the lines of all files that have a text."""
        hits = [
            f"{path}:{k}:{line}"
            for path, text in self.texts.items()
            for k, line in enumerate(text.splitlines(), 1)
            if pattern in line
        ]
        return "\n".join(hits) or "No matches found"

    def bash(self, command: str) -> str:
        """Execute a command in the shell."""
        return self.commands[command]()

    def tools(self) -> dict[str, Callable[..., str]]:
        return {"Read": self.read, "Edit": self.edit, "Grep": self.grep, "Bash": self.bash}


def _read(path: str) -> Use:
    return Use("Read", {"file_path": path})


def _bash(command: str) -> Use:
    return Use("Bash", {"command": command})


def _edit(path: str, old: str, new: str, text: str) -> Use:
    return Use("Edit", {"file_path": path, "old_string": old, "new_string": new}, text)


def _line(pattern: str) -> str:
    """Return the pattern of a whole line of a file, with or without its number."""
    return rf"(?m)^(?:\s*\d+\t)?({pattern})$"


def _calls(uses: Sequence[Use], text: str) -> Step:
    """Return a step that makes these calls, which need nothing."""
    return lambda _: joined(uses, text)


def _answer(text: str) -> Step:
    return lambda _: Respond(text)


def _batches(items: Sequence[Use], size: int) -> list[Sequence[Use]]:
    return [items[k : k + size] for k in range(0, len(items), size)]


def _names(dice: Random, count: int) -> list[str]:
    """Return different names of two words."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[f"{dice.choice(texts.ADJECTIVES)}_{dice.choice(texts.NOUNS)}"] = None
    return list(found)


def _size(dice: Random, window: int) -> int:
    return int(exp(dice.uniform(log(LEAST), log(min(MOST, SHARE * window)))))


def _differs(found: Mapping[Any, Any], expected: Mapping[Any, Any]) -> str:
    bad = sum(found.get(key) != expected[key] for key in expected)
    extra = sum(key not in expected for key in found)
    return f"{bad} of {len(expected)} are missing or wrong, {extra} too many" * bool(bad + extra)


# --- the tasks


def _configs(dice: Random, window: int, units: int) -> Task:
    names = _names(dice, 10 + units // 8)
    settings = {name: f"{name}_pool_size" for name in names}
    paths = {name: f"deploy/{name}/config.yaml" for name in names}
    before = {name: dice.randint(100, 999) for name in names}
    files = _Files({})
    for name in names:
        line = f"  {settings[name]}: {before[name]}  # {texts.sentence(dice)}"
        size = _size(dice, window // 2)
        files.texts[paths[name]] = texts.configuration(dice, name, size, [line])
    changed = dice.sample(names, 3 + units // 10)
    after = {name: dice.randint(1_000, 9_999) for name in changed}
    expected = dict(files.texts)
    for name in changed:
        old, new = f"_pool_size: {before[name]}  #", f"_pool_size: {after[name]}  #"
        expected[paths[name]] = expected[paths[name]].replace(f"{name}{old}", f"{name}{new}")
    logs = [
        f"kubectl logs deploy/{dice.choice(names)} --since={k + 1}h" for k in range(max(units, 3))
    ]
    log_of = {name: dice.choice(logs) for name in changed}
    for command in logs:
        lines = [
            f"advice: set {settings[n]} to {after[n]} now" for n in changed if log_of[n] == command
        ]
        text = texts.log(dice, _size(dice, window), lines)
        files.commands[command] = partial(str, text)
    files.commands["configctl validate"] = partial(texts.log, dice, 200)
    steps = [
        _calls(batch, "I read these files.")
        for batch in _batches([_read(p) for p in paths.values()], 3)
    ]
    steps += [_calls([_bash(command)], "I read this log.") for command in logs]

    def change(name: str) -> Step:
        def step(sight: Sight) -> Use:
            value, line = sight.need(
                (_bash(log_of[name]), rf"advice: set {settings[name]} to (\d+) now"),
                (_read(paths[name]), _line(rf"\s*{settings[name]}: \d+  # [^.…\[\n]*\.")),
            )
            new = re.sub(r"_pool_size: \d+", f"_pool_size: {value[1]}", line[1])
            return _edit(paths[name], line[1], new, f"I change {paths[name]}.")

        return step

    steps += [change(name) for name in changed]
    steps += [
        _calls([_bash("configctl validate")], "I validate."),
        _answer("The files are changed."),
    ]
    request = (
        "TASK: the load test showed that some services exhaust their pools. Read the configuration "
        "files in deploy, then the logs of the services, which advise new sizes, and change the "
        "files whose size is too small. Leave everything else in them as it is."
    )
    return Task(
        World("configs", request, files.tools(), lambda: _differs(files.texts, expected)), steps
    )


def _bughunt(dice: Random, window: int, units: int) -> Task:
    names = _names(dice, 5 + units // 4)
    paths = [f"src/{name}/limits.py" for name in names]
    order = [dice.randrange(1, len(paths)) for _ in range(max(units, 3) - 1)] + [0]
    constants = [f"{name.upper()}_LIMIT_{k}" for k, name in enumerate(names[at] for at in order)]
    values = [dice.randint(1_000, 9_999) for _ in order]
    lines: dict[int, list[str]] = {at: [] for at in range(len(paths))}
    for name, at in zip(constants, order, strict=True):
        lines[at].append(
            f"{name}: Final = {dice.randint(10_000, 99_999)}  # {texts.sentence(dice)}"
        )
    files = _Files(
        {
            path: texts.module(dice, name, _size(dice, window), lines[at], ())
            for at, (path, name) in enumerate(zip(paths, names, strict=True))
        }
    )
    outputs = [texts.pytest_output(dice, _size(dice, window), "{}") for _ in order]

    def is_right(at: int) -> bool:
        text = files.texts[paths[order[at]]]
        return re.search(rf"(?m)^{constants[at]}: Final = {values[at]}  # ", text) is not None

    def pytest() -> str:
        bad = next((at for at in range(len(order)) if not is_right(at)), None)
        if bad is None:
            return texts.pytest_output(Random(0), 0)  # noqa: S311 (not a secret)
        failure = f"{constants[bad]} in {paths[order[bad]]} must be {values[bad]} here"
        return outputs[bad].replace("{}", failure)

    run = _bash("pytest -q")
    files.commands["pytest -q"] = pytest
    failed = r"AssertionError: (\w+) in (\S+) must be (\d+) here"

    def fix(sight: Sight) -> Use:
        name, path, value = sight.latest(run, failed).groups()
        (line,) = sight.need((_read(path), _line(rf"{name}: Final = \d+  # [^.…\[\n]*\.")))
        return _edit(path, line[1], re.sub(r"= \d+", f"= {value}", line[1]), f"I correct {name}.")

    steps: list[Step] = [
        _calls([Use("Grep", {"pattern": "_LIMIT_"})], "I search for the limits."),
        *(_calls(batch, "I read these.") for batch in _batches([_read(p) for p in paths], 2)),
        _calls([run], "I run the tests."),
    ]
    for _ in order:
        steps += [fix, _calls([run], "I run the tests again.")]
    steps.append(_answer("All tests pass."))
    request = (
        "TASK: the contract tests fail since the limits of the services were changed. Find the "
        "limits, and correct one after the other until `pytest -q` passes. Keep their comments."
    )

    def wrong() -> str:
        bad = sum(not is_right(at) for at in range(len(order)))
        return f"{bad} of {len(order)} limits are wrong" * bool(bad)

    return Task(World("bughunt", request, files.tools(), wrong), steps)


def _reports(dice: Random, window: int, units: int) -> Task:
    companies = ("Norvik", "Halden")
    topics = [name.replace("_", " ") for name in _names(dice, max(2, units))]
    values = {(one, topic): dice.randint(10_000, 99_999) for one in companies for topic in topics}
    pages = {}
    for one in companies:
        for k, topic in enumerate(topics):
            value = f"{values[one, topic]} thousand euros"
            fact = f"{one}'s revenue in the {topic} segment came to {value}."
            pages[one, k] = texts.article(dice, f"{one}, page {k + 1}", _size(dice, window), [fact])
    findings: dict[object, object] = {}

    def get_page(document: str, page: int) -> str:
        """Return a page of a document."""
        return pages[document, page - 1]

    def add_finding(topic: str, first: int, second: int) -> str:
        """Add the figures of both companies for a segment."""
        findings[topic] = (first, second)
        return f"Finding {len(findings)} of {len(topics)} is stored."

    def page_of(one: str, k: int) -> Use:
        return Use("get_page", {"document": one, "page": k + 1})

    def compare(k: int) -> Step:
        def step(sight: Sight) -> Use:
            fact = rf"'s revenue in the {topics[k]} segment came to (\d+) thousand euros"
            first, second = sight.need(*((page_of(one, k), one + fact) for one in companies))
            figures = {"topic": topics[k], "first": int(first[1]), "second": int(second[1])}
            return Use("add_finding", figures, f"I compare {topics[k]}.")

        return step

    steps: list[Step] = []
    for one in companies:
        uses = [page_of(one, k) for k in range(len(topics))]
        steps += [_calls(batch, f"I read {one}'s report.") for batch in _batches(uses, 2)]
    steps += [compare(k) for k in dice.sample(range(len(topics)), len(topics))]
    steps.append(_answer("The comparison is complete."))
    request = (
        f"TASK: read the annual report of Norvik, then that of Halden ({len(topics)} pages each), "
        "and then add a finding for each segment with the revenues of both."
    )
    expected = {topic: (values["Norvik", topic], values["Halden", topic]) for topic in topics}
    tools: dict[str, Callable[..., str]] = {"get_page": get_page, "add_finding": add_finding}
    return Task(World("reports", request, tools, lambda: _differs(findings, expected)), steps)


PAGE, TABLE = 20, 60
"""Records of a page of `pages`, and rows of the table that one call writes."""


def _pages(dice: Random, window: int, units: int) -> Task:  # noqa: C901 (texts, tools and steps)
    del window
    count = PAGE * max(3, units)
    first = dice.randint(10_000, 50_000)
    ids = [f"INV-{first + k}" for k in range(count)]
    rows: dict[str, tuple[int, str]] = {}
    records = []
    for one in ids:
        rows[one] = (
            dice.randint(10_000, 999_999),
            f"2026-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}",
        )
        records.append(
            f'{{"id": "{one}", '
            f'"customer": "{dice.choice(texts.NOUNS).title()} {dice.choice(texts.NOUNS)} AS", '
            f'"total": {rows[one][0]}, "due": "{rows[one][1]}", '
            f'"order": "PO-{dice.getrandbits(28):07x}", '
            f'"status": "{dice.choice(("open", "paid", "late"))}", '
            f'"memo": "{texts.sentence(dice)}"}}'
        )
    orders = {
        one: re.findall(r'"order": "([^"]+)"', text)[0]
        for one, text in zip(ids, records, strict=True)
    }
    wanted = dice.sample(ids, 5 + units // 4)
    table: dict[object, object] = {}
    corrected: dict[object, object] = {}

    def list_invoices(page: int) -> str:
        """List invoices, twenty a page."""
        here = ",\n ".join(records[PAGE * (page - 1) : PAGE * page])
        return f'{{"page": {page}, "pages": {count // PAGE}, "invoices": [\n {here}\n]}}'

    def append_rows(rows: list[dict[str, object]]) -> str:
        """Append rows to the table: id, total and due date."""
        table.update({row["id"]: (row["total"], row["due"]) for row in rows})
        return f"The table has {len(table)} rows."

    def get_corrections() -> str:
        """List the invoices whose row lacks the number of the order."""
        return "\n".join(
            f"Correction {k}: {one} needs its order" for k, one in enumerate(wanted, 1)
        )

    def set_order(id: str, order: str) -> str:  # noqa: A002 (an API's name)
        """Add the number of the order to a row."""
        corrected[id] = order
        return f"Row {id} is corrected."

    def page_of(one: str) -> Use:
        return Use("list_invoices", {"page": ids.index(one) // PAGE + 1})

    def write(part: Sequence[str]) -> Step:
        def step(sight: Sight) -> Use:
            fact = r'"id": "{}", [^\n{{}}]*?"total": (\d+), "due": "([\d-]+)"'
            found = sight.need(*((page_of(one), fact.format(one)) for one in part))
            made = [
                {"id": one, "total": int(place[1]), "due": place[2]}
                for one, place in zip(part, found, strict=True)
            ]
            return Use("append_rows", {"rows": made}, f"I write the rows from {part[0]} on.")

        return step

    def correct(k: int) -> Step:
        def step(sight: Sight) -> Use:
            listed = Use("get_corrections", {})
            (name,) = sight.need((listed, rf"Correction {k}: (INV-\d+) needs"))
            (found,) = sight.need(
                (page_of(name[1]), rf'"id": "{name[1]}", [^\n{{}}]*?"order": "(PO-\w+)"')
            )
            return Use("set_order", {"id": name[1], "order": found[1]}, f"I correct {name[1]}.")

        return step

    reads = [Use("list_invoices", {"page": k + 1}) for k in range(count // PAGE)]
    steps = [_calls([use], "I read the next page.") for use in reads]
    steps += [write(ids[k : k + TABLE]) for k in range(0, count, TABLE)]
    steps.append(_calls([Use("get_corrections", {})], "I request corrections."))
    steps += [correct(k + 1) for k in range(len(wanted))]
    steps.append(_answer("The table is complete."))
    request = (
        f"TASK: collect all {count} invoices, beginning with {ids[0]}, and write a table of them "
        "with their totals and due dates. Then add the numbers of the orders that are needed."
    )
    expected = {one: rows[one] for one in ids} | {f"order {one}": orders[one] for one in wanted}

    def wrong() -> str:
        return _differs(
            table | {f"order {one}": order for one, order in corrected.items()}, expected
        )

    tools = {one.__name__: one for one in (list_invoices, append_rows, get_corrections, set_order)}
    return Task(World("pages", request, tools, wrong), steps)


AGAIN = 0.3
"""Share of the tickets of `support` that refer to an earlier one."""
POLICIES, FIRST = 6, 2
"""Different reasons for a refund, and the first tickets, which refer to no other."""


def _support(dice: Random, window: int, units: int) -> Task:  # noqa: C901, PLR0915 (texts, tools and steps)
    count = max(3, units)
    reasons = _names(dice, POLICIES)
    percents = {one: dice.randint(11, 89) for one in reasons}
    policies = {
        one: texts.article(
            dice,
            f"Policy: {one}",
            _size(dice, window),
            [f"A refund for {one} is {percents[one]} percent of the total of the order."],
        )
        for one in reasons
    }
    people = [f"{name}@example.org" for name in _names(dice, count // 2 + 2)]
    bonus = {one: dice.randint(10, 99) for one in people}
    customers = {
        one: texts.entity(
            dice,
            _size(dice, window) // 4,
            {"email": one, "loyalty": f"{one} has a bonus of {bonus[one]} SEK"},
        )
        for one in people
    }
    tickets: list[str] = []
    expected: dict[int, int] = {}
    orders: dict[str, str] = {}
    steps: list[Step] = [_answer("I am ready for the tickets.")]
    refunds: dict[object, object] = {}

    def get_customer(email: str) -> str:
        """Return a customer's account."""
        return customers[email]

    def get_order(order_id: str) -> str:
        """Return an order with its items."""
        return orders[order_id]

    def get_policy(reason: str) -> str:
        """Return the article of the policy for a reason."""
        return policies[reason]

    def get_ticket(number: int) -> str:
        """Return a ticket and what was decided."""
        refund = refunds.get(number)
        return f"{tickets[number - 1]}\n" + (
            f"Refund of ticket {number}: {refund} SEK" if refund else "open"
        )

    def issue_refund(ticket: int, amount: int) -> str:
        """Pay a refund for a ticket, in SEK."""
        refunds[ticket] = amount
        return f"Refund of ticket {ticket}: {amount} SEK"

    def usual(number: int) -> list[Step]:
        email, order, reason = dice.choice(people), f"ORD-{7_000 + number}", dice.choice(reasons)
        total = dice.randint(1_000, 99_999)
        fields = {"order": order, "email": email, "charged": f"{order} has a total of {total} SEK"}
        orders[order] = texts.entity(dice, _size(dice, window) // 2, fields)
        expected[number] = total * percents[reason] // 100
        tickets.append(
            f"Ticket {number} from {email} about order {order}, reason {reason}: "
            f"{texts.paragraphs(dice, 60)} Please refund me."
        )
        request: Need = (
            Use("get_ticket", {"number": number}),
            rf"Ticket {number} from (\S+) about order (\S+), reason (\w+)",
        )

        def find_order(sight: Sight) -> Use:
            ((email, order, _),) = [found.groups() for found in sight.need(request)]
            uses = [Use("get_customer", {"email": email}), Use("get_order", {"order_id": order})]
            return joined(uses, "I find the customer and the order.")

        def pay(sight: Sight) -> Use:
            ((_, order, reason),) = [found.groups() for found in sight.need(request)]
            total, percent = sight.need(
                (Use("get_order", {"order_id": order}), rf"{order} has a total of (\d+) SEK"),
                (
                    Use("get_policy", {"reason": reason}),
                    rf"A refund for {reason} is (\d+) percent of",
                ),
            )
            amount = int(total[1]) * int(percent[1]) // 100
            return Use("issue_refund", {"ticket": number, "amount": amount}, "I pay the refund.")

        return [find_order, pay]

    def again(number: int) -> list[Step]:
        earlier, email = dice.choice(list(expected)), dice.choice(people)
        expected[number] = expected[earlier] + bonus[email]
        tickets.append(
            f"Ticket {number} from {email}, like ticket {earlier}: {texts.paragraphs(dice, 60)} "
            "I want the same refund, and my bonus with it."
        )
        request: Need = (
            Use("get_ticket", {"number": number}),
            rf"Ticket {number} from (\S+), like ticket (\d+):",
        )

        def pay(sight: Sight) -> Use:
            ((email, earlier),) = [found.groups() for found in sight.need(request)]
            refund, extra = sight.need(
                (
                    Use("get_ticket", {"number": int(earlier)}),
                    rf"Refund of ticket {earlier}: (\d+) SEK",
                ),
                (Use("get_customer", {"email": email}), rf"{email} has a bonus of (\d+) SEK"),
            )
            amount = int(refund[1]) + int(extra[1])
            return Use("issue_refund", {"ticket": number, "amount": amount}, "I pay the refund.")

        return [pay]

    for number in range(1, count + 1):
        is_again = number > FIRST and dice.random() < AGAIN
        steps += again(number) if is_again else usual(number)
        steps.append(_answer(f"The refund for ticket {number} is paid."))
    request = (
        "TASK: you are the support agent of a shop. Answer each ticket that I send: look up what "
        "it is about, and pay the refund that the policy for its reason states. Refunds are "
        "whole SEK."
    )
    tools = {
        one.__name__: one for one in (get_customer, get_order, get_policy, get_ticket, issue_refund)
    }
    world = World("support", request, tools, lambda: _differs(refunds, expected), later=tickets)
    return Task(world, steps)


def _research(dice: Random, window: int, units: int) -> Task:  # noqa: C901 (texts, tools and steps)
    topics = _names(dice, max(3, units))
    urls = {
        one: f"https://{one.replace('_', '-')}.example.org/{dice.getrandbits(32):08x}"
        for one in topics
    }
    facts, pages, hits = {}, {}, {}
    for one in topics:
        facts[one] = (
            f"The {one} survey counted {dice.randint(10_000, 99_999)} cases, of which "
            f"{dice.randint(11, 99)} percent were seen where {texts.sentence(dice).lower()}"
        )
        pages[urls[one]] = texts.article(dice, one, _size(dice, window), [facts[one]])
        listed = [
            f"{name} https://{name}.example.net/{dice.getrandbits(32):08x} {texts.sentence(dice)}"
            for name in _names(dice, 8)
        ]
        listed.insert(dice.randrange(8), f"{one} survey: {urls[one]} {texts.sentence(dice)}")
        hits[one] = "\n".join(listed)
    sections = [dice.sample(topics, 3) for _ in range(max(2, units // 2))]
    written_sections: dict[object, object] = {}

    def web_search(query: str) -> str:
        """Search the web."""
        return hits[query]

    def fetch_url(url: str) -> str:
        """Return a page of the web as Markdown."""
        return pages[url]

    def write_section(number: int, text: str) -> str:
        """Write a section of the report."""
        written_sections[number] = text
        return f"Section {number} is stored."

    def url_of(sight: Sight, topic: str) -> str:
        (found,) = sight.need(
            (Use("web_search", {"query": topic}), rf"{topic} survey: (https://\S+) ")
        )
        return found[1]

    def fact_of(sight: Sight, topic: str) -> str:
        pattern = (
            rf"The {topic} survey counted \d+ cases, of which \d+ percent were seen where "
            r"[^.…\[\n]+\.(?!\.)"
        )
        if (found := sight.find(pattern)) is not None:
            return found[0]
        raise MissingError([(Use("fetch_url", {"url": url_of(sight, topic)}), pattern)])

    def fetch(topic: str) -> Step:
        return lambda sight: Use(
            "fetch_url", {"url": url_of(sight, topic)}, f"I read about {topic}."
        )

    def note(topic: str, following: Use) -> Step:
        return lambda sight: replace(
            following, text=f'My note on {topic}: "{fact_of(sight, topic)}"'
        )

    def section(number: int, chosen: Sequence[str]) -> Step:
        def step(sight: Sight) -> Use:
            text = " ".join(fact_of(sight, topic) for topic in chosen)
            return Use(
                "write_section", {"number": number, "text": text}, f"I write section {number}."
            )

        return step

    searches = [Use("web_search", {"query": topic}) for topic in topics]
    steps: list[Step] = [_calls(searches[:1], "I search.")]
    for topic, following in zip(
        topics, [*searches[1:], Use("web_search", {"query": topics[0]})], strict=True
    ):
        steps += [fetch(topic), note(topic, following)]
    steps += [section(number, chosen) for number, chosen in enumerate(sections, 1)]
    steps.append(_answer("The report is written."))
    request = (
        f"TASK: research the surveys about {len(topics)} subjects. Note the sentence with the "
        f"count of each one. Then write a report of {len(sections)} sections that quote these "
        "sentences verbatim."
    )
    expected = {k: " ".join(facts[one] for one in chosen) for k, chosen in enumerate(sections, 1)}
    tools = {one.__name__: one for one in (web_search, fetch_url, write_section)}
    return Task(
        World("research", request, tools, lambda: _differs(written_sections, expected)), steps
    )


def _migration(dice: Random, window: int, units: int) -> Task:  # noqa: C901 (texts, tools and steps)
    names = _names(dice, max(5, units))
    paths = {name: f"src/{name}/sync.py" for name in names}
    retries = {name: dice.randint(2, 9) for name in names}
    comments = {name: texts.sentence(dice) for name in names}
    timeouts = {name: dice.randint(10, 99) for name in names}

    def line(name: str, *, count: int) -> str:
        call = f'http.get("/v2/{name}", attempts={count}, ms={timeouts[name]}000)'
        return f"    rows = {call}  # {comments[name]}"

    files = _Files({})
    for name in names:
        arguments = f'"/v2/{name}", retries={retries[name]}, timeout={timeouts[name]}'
        old = f"    rows = client.fetch({arguments})  # {comments[name]}"
        files.texts[paths[name]] = texts.module(dice, name, _size(dice, window) // 2, (), [old])
    early = dice.sample(
        names[: max(2, len(names) // 3)], min(2 + len(names) // 6, max(2, len(names) // 3))
    )
    outputs = [texts.pytest_output(dice, _size(dice, window), "{}") for _ in early]
    final = dict(retries) | {name: retries[name] + 10 for name in early}

    def pytest() -> str:
        for name, output in zip(early, outputs, strict=True):
            if line(name, count=final[name]) not in files.texts[paths[name]]:
                return output.replace(
                    "{}", f"/v2/{name} must have {final[name]} attempts in {paths[name]} now"
                )
        return texts.pytest_output(Random(0), 0)  # noqa: S311 (not a secret)

    run, part = _bash("pytest -q"), _bash("pytest -q -k unit")
    files.commands |= {
        "pytest -q": pytest,
        "pytest -q -k unit": partial(texts.pytest_output, Random(1), 0),  # noqa: S311
    }

    def current(name: str) -> Need:
        return _read(paths[name]), _line(
            rf'\s+rows = \w+\.\w+\("/v2/{name}", \w+=\d+, \w+=\d+\)  # [^.…\[\n]*\.'
        )

    def change(name: str) -> Step:
        def step(sight: Sight) -> Use:
            (found,) = sight.need(current(name))
            new = re.sub(
                r"client\.fetch(.*)retries=(\d+), timeout=(\d+)",
                r"http.get\1attempts=\2, ms=\g<3>000",
                found[1],
            )
            return _edit(paths[name], found[1], new, f"I change {paths[name]}.")

        return step

    def fix(sight: Sight) -> Use:
        failed = r"AssertionError: /v2/(\w+) must have (\d+) attempts in (\S+) now"
        name, value, path = sight.latest(run, failed).groups()
        (found,) = sight.need(current(name))
        new = re.sub(r"attempts=\d+", f"attempts={value}", found[1])
        return _edit(path, found[1], new, f"I correct {path}.")

    steps: list[Step] = [
        _calls([Use("Grep", {"pattern": "client.fetch"})], "I search for the calls.")
    ]
    for k, name in enumerate(names, 1):
        steps += [_calls([_read(paths[name])], "I read the next file."), change(name)]
        if k % 5 == 0:
            steps.append(_calls([part], "I run the unit tests."))
    steps.append(_calls([run], "I run all tests."))
    for _ in early:
        steps += [fix, _calls([run], "I run all tests again.")]
    steps.append(_answer("Everything is migrated, and all tests pass."))
    request = (
        "TASK: migrate all calls of `client.fetch` to `http.get`, whose arguments are attempts and "
        "milliseconds. Read each file before you change it, run the tests, and repair what "
        "they find."
    )

    def wrong() -> str:
        bad = sum(line(name, count=final[name]) not in files.texts[paths[name]] for name in names)
        return f"{bad} of {len(names)} files are wrong" * bool(bad)

    return Task(World("migration", request, files.tools(), wrong), steps)


TURNS = "AABBAA"
"""The list of prices that holds in each turn of `requirements`."""
PRICES = 30


def _requirements(dice: Random, window: int, units: int) -> Task:  # noqa: C901 (texts, tools and steps)
    goods = [name.replace("_", "-") for name in _names(dice, PRICES)]
    prices = {one: {good: dice.randint(100, 9_999) for good in goods} for one in "AB"}
    lists = {
        one: f"Price list {one}:\n| article | price |\n|---|---:|\n"
        + "\n".join(f"| {good} | {price} |" for good, price in prices[one].items())
        for one in "AB"
    }
    count = max(len(TURNS), units)
    chosen = [(dice.choice(goods), TURNS[len(TURNS) * k // count]) for k in range(count)]
    packs = [dice.randint(2, 99) for _ in chosen]
    sheets = [
        texts.article(
            dice,
            f"Offer {k + 1}",
            _size(dice, window),
            [f"Offer {k + 1} is for {packs[k]} pieces of {good} in all."],
        )
        for k, (good, _) in enumerate(chosen)
    ]
    quotes: dict[object, object] = {}

    def get_inquiry(number: int) -> str:
        """Return the inquiry of a customer."""
        return sheets[number - 1]

    def save_quote(number: int, total: int) -> str:
        """Save the quote for an inquiry."""
        quotes[number] = total
        return f"Quote {number} is saved."

    def ask_user(question: str) -> str:
        """Ask the user a question."""
        return lists[question[-1]]

    def quote(k: int, prices_of: str) -> Step:
        def step(sight: Sight) -> Use:
            inquiry = Use("get_inquiry", {"number": k + 1})
            (found,) = sight.need((inquiry, rf"Offer {k + 1} is for (\d+) pieces of (\S+) in all"))
            row = rf"Price list {prices_of}:\n(?:(?!Price list)[^\n]*\n)*?\| {found[2]} \| (\d+) \|"
            (price,) = sight.need(
                (Use("ask_user", {"question": f"What is price list {prices_of}"}), row)
            )
            total = {"number": k + 1, "total": int(found[1]) * int(price[1])}
            return Use("save_quote", total, f"I save quote {k + 1}.")

        return step

    turns = [
        [k for k in range(count) if len(TURNS) * k // count == turn] for turn in range(len(TURNS))
    ]
    steps: list[Step] = []
    messages: list[str] = []
    for turn, members in enumerate(turns):
        span = f"{members[0] + 1} to {members[-1] + 1}"
        which = TURNS[turn]
        if turn == 0:
            messages.append(
                "TASK: read the inquiries of customers, and save a quote for each one: the number "
                "of pieces times the price in the list that I name. "
                f"Begin with {span}.\n{lists['A']}"
            )
        elif which == TURNS[turn - 1]:
            messages.append(f"Good. Now the inquiries {span}, with the same prices.")
        elif turn == TURNS.index("B"):
            messages.append(
                f"The prices have changed. Use this list for the inquiries {span}.\n{lists['B']}"
            )
        else:
            messages.append(
                f"The change was a mistake. Use price list {which} again for the inquiries {span}."
            )
        for k in members:
            use = Use("get_inquiry", {"number": k + 1})
            steps += [_calls([use], "I read the next inquiry."), quote(k, which)]
        steps.append(_answer(f"The quotes {span} are saved."))
    expected = {k + 1: packs[k] * prices[which][good] for k, (good, which) in enumerate(chosen)}
    tools = {one.__name__: one for one in (get_inquiry, save_quote, ask_user)}
    world = World(
        "requirements", messages[0], tools, lambda: _differs(quotes, expected), later=messages[1:]
    )
    return Task(world, steps)


_BUILDERS: Mapping[str, Callable[[Random, int, int], Task]] = {
    "configs": _configs,
    "bughunt": _bughunt,
    "reports": _reports,
    "pages": _pages,
    "support": _support,
    "research": _research,
    "migration": _migration,
    "requirements": _requirements,
}
TASKS = tuple(_BUILDERS)


def make_task(name: str, seed: int, window: int, load: float) -> Task:
    """Return a task.

    Args:
        name: One of `TASKS`.
        seed: Of all names and numbers.
        window: Tokens that the model accepts.
        load: Tokens of the whole conversation, as a share of the window: above 1 it does not fit.
    """
    return _task(name, seed, window, _units(name, seed, window, load))


def _task(name: str, seed: int, window: int, units: int) -> Task:
    return _BUILDERS[name](Random(f"{name} {seed}"), window, units)  # noqa: S311 (not a secret)


@lru_cache(maxsize=1_000)
def _units(name: str, seed: int, window: int, load: float) -> int:
    """Return the size with which the conversation has about as many tokens as requested."""
    target = load * window - OVERHEAD
    sizes: dict[int, int] = {}
    units = UNITS
    for _ in range(TRIES):
        while units in sizes:
            units += 1
        task = _task(name, seed, window, units)
        why, bill = play(task.world, Whole(), 1_000_000, partial(decide_task, task=task))
        assert not why, f"{name} cannot be solved: {why}"
        sizes[units] = bill.peak
        if abs(bill.peak - target) < CLOSE * target:
            break
        units = max(1, round(units * target / bill.peak))
    small = [one for one in sizes if sizes[one] < (1 + CLOSE) * target] or [min(sizes)]
    return max(small, key=sizes.__getitem__)
