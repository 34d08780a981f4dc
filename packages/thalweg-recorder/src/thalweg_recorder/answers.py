"""The recorder's answers to an agent: bounded, marked as data, without secrets.

The public methods of `Answers` are the tools and resources of `thalweg record mcp`, with their
arguments.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated
from urllib.parse import quote, unquote

from pydantic import Field

from thalweg.archive import Archive, Span, ThreadKey, recall
from thalweg.errors import ConfigError, FactRefusedError, MemoryOffError, RangeError
from thalweg.redaction.secrets import redact
from thalweg_memory.facts.values import Trust
from thalweg_memory.handle import Memory
from thalweg_memory.prompts import prompt as memory_prompt
from thalweg_recorder.prompts import prompt
from thalweg_recorder.searching import SearchFilter, cut_to, render_found, search_sessions
from thalweg_recorder.sessions import OWNER, RecordedSession, list_compactions, list_sessions

MAX_TOKENS = 3_000
"""Bound on the text of an answer; the mark around it adds about twenty."""
MAX_LISTED = 50
"""Threads that `list_threads` lists."""
MAX_REPORTED = 20
"""Compactions that a report lists, the newest."""
_REFERENCE = re.compile(r"(?P<thread>.+)#(?P<first>\d{1,12})(?:-(?P<last>\d{1,12}))?")


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers to the agent of one owner, that works in one project.

    Errors of a request are answers, too; a model reads them.
    """

    archive: Archive
    memory: Memory | None = None
    project: str = ""
    """The folder that the agent works in; empty if it is unknown."""
    owner: str = OWNER

    def recall(
        self,
        query: str = "",
        other_words: Annotated[list[str], Field(max_length=8)] = [],  # noqa: B006 (only read)
        handle: str = "",
        scope: Annotated[str, Field(pattern="^(project|all)$")] = "project",
        lines: tuple[int, int] | None = None,
        chars: tuple[int, int] | None = None,
        path: str = "",
    ) -> str:
        """Find passages by a question, or read the content of a reference."""
        if handle:
            return self._read(handle, lines, chars, path)
        project = "" if scope == "all" else self.project
        return self._search([query, *other_words], SearchFilter(project=project, or_above=True))

    def history(
        self,
        file: str = "",
        command: str = "",
        words: str = "",
        errors: bool = False,  # noqa: FBT001, FBT002 (a field of the tool's schema)
    ) -> str:
        """Find what happened to a file, with a command, or which errors occurred."""
        sought = SearchFilter(file=file, command=command, errors=errors)
        return self._search(words, replace(sought, project=self.project, or_above=True))

    def remember(self, statement: str) -> str:
        """Propose a fact: as the agent's sources are unknown, it waits for the user."""
        if self.memory is None:
            return memory_prompt("remember_off").render()
        try:
            fact = self.memory.remember_as_agent(
                statement, category="knowledge", turns=(), least=Trust.WEB
            )
        except FactRefusedError as refused:
            return memory_prompt("remember_refused").render(problem=refused.problem)
        except MemoryOffError:
            return memory_prompt("remember_off").render()
        name = "remember_waits" if fact.status == "quarantined" else "remember_done"
        return memory_prompt(name).render(content=fact.content)

    def recall_memory(self, query: str) -> str:
        """Search the facts about the user."""
        recalled = self.memory.recall(query, budget_tokens=MAX_TOKENS) if self.memory else None
        if recalled is None or not recalled.text:
            return memory_prompt("recall_memory_nothing").render()
        return _as_data(recalled.text)

    def context_report(self, thread: str = "") -> str:
        """Report the cost of a session and the content that its compactions removed."""
        sessions = [
            (name, session)
            for name, session in list_sessions(self.archive, self.owner)
            if (name == thread if thread else session.is_in(self.project))
        ]
        if not sessions:
            return prompt("recorded_no_sessions").render()
        name, session = max(sessions, key=lambda pair: pair[1].ended_at)
        return _as_data(cut_to(MAX_TOKENS, "\n".join(self._report(name, session))))

    def list_threads(self) -> str:
        """List the newest threads, the newest first: resource, time, title."""
        found = list_sessions(self.archive, self.owner)
        sessions = sorted(found, key=lambda pair: pair[1].ended_at)
        lines = (
            f"thalweg://thread/{quote(thread, safe='')} {session.ended_at} {session.title}"
            for thread, session in reversed(sessions[-MAX_LISTED:])
        )
        return _as_data("\n".join(lines))

    def read_thread(self, name: str) -> str:
        """Read a thread by its name, percent-encoded as in a resource."""
        thread = unquote(name)
        last = self.archive.length(ThreadKey(self.owner, thread)) - 1
        return self.recall(handle=f"{thread}#0-{max(0, last)}")

    def _search(self, query: str | list[str], only: SearchFilter) -> str:
        owner, tokens = self.owner, MAX_TOKENS
        try:
            found = search_sessions(self.archive, query, only, owner=owner, max_tokens=tokens)
        except ConfigError:
            return prompt("recorded_no_sessions").render()
        if not found:
            return prompt("recorded_nothing").render()
        return _as_data(cut_to(MAX_TOKENS, redact(render_found(found))))

    def _read(
        self,
        reference: str,
        lines: tuple[int, int] | None,
        chars: tuple[int, int] | None,
        path: str,
    ) -> str:
        match = _REFERENCE.fullmatch(reference.strip())
        if match is None:
            return prompt("recorded_unknown").render(reference=reference[:200])
        key = ThreadKey(self.owner, match["thread"])
        first = int(match["first"])
        try:
            handle = self.archive.handle(key, Span(first, int(match["last"] or first)))
        except RangeError:
            return prompt("recorded_unknown").render(reference=reference[:200])
        read = recall(
            self.archive,
            key,
            handle=handle,
            lines=lines,
            chars=chars,
            path=path,
            max_tokens=MAX_TOKENS,
        )
        return _as_data(redact(read))

    def _report(self, thread: str, session: RecordedSession) -> Iterator[str]:
        cost = "unknown" if session.cost is None else f"${session.cost:,.2f}"
        yield f"{thread}: {session.title or '(no title)'}"
        total = session.total
        models = sorted({usage.model for usage in session.usage} - {""}) or [session.model]
        yield (
            f"{total.calls:,} calls of {', '.join(filter(None, models)) or 'an unknown model'}; "
            f"{total.input:,} tokens in ({total.cached:,} from the cache), {total.output:,} out; "
            f"cost {cost}"
        )
        new = list_compactions(self.archive, ThreadKey(self.owner, thread))
        cuts = [0, *(one["position"] for one in new)]
        spans = [*zip(pairwise(cuts), new, strict=True)]
        yield f"{len(new)} compactions" + (" (the newest)" if len(new) > MAX_REPORTED else "")
        for (first, end), one in spans[-MAX_REPORTED:]:
            before = f", {one['tokens_before']:,} tokens before" if "tokens_before" in one else ""
            held = f"; read back {thread}#{first}-{end - 1}" if end > first else ""
            yield f"- {one.get('at', 'at an unknown time')}{before}{held}"


def _as_data(text: str) -> str:
    """Mark a text as data; what looks like the mark inside it is escaped."""
    fenced = re.sub(r"<(?=\s*/?\s*recorded-data)", r"<\\", text, flags=re.IGNORECASE)
    return prompt("recorded_data").render(text=fenced)
