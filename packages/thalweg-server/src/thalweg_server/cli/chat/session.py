"""A chat on a terminal: typed lines go to the client, the events of answers to the printer."""

import json
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import get_args

from prompt_toolkit import PromptSession, prompt
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from pydantic import JsonValue

from thalweg.cli.printing import count, table
from thalweg.errors import AnswerError, BusyError, NoSuchThreadError, ThalwegError
from thalweg_server.api.events import RunCancelled, RunCompleted, RunFailed, RunInterrupted
from thalweg_server.api.threads import Question
from thalweg_server.cli.chat.approvals import Action, answer_to, read_decision
from thalweg_server.cli.chat.commands import COMMANDS, last_exchange, memory_lines, new_thread
from thalweg_server.cli.chat.printing import Printer, RunPrinter, follow, money
from thalweg_server.client import BlockingStream, ThalwegClient
from thalweg_server.client.runs import MemoryMode

_LAST = 12
"""Messages looked through for the newest question and its answer."""
MODES: tuple[MemoryMode, ...] = get_args(MemoryMode)
_KEYS = "Enter sends, Alt-Enter begins a new line, Ctrl-C stops an answer, Ctrl-D quits."


class LineEditor:
    """Asks a person for lines."""

    def __init__(self, history: Path | None) -> None:
        """Prepare it.

        Args:
            history: The file of earlier messages.
        """
        keys = KeyBindings()

        @keys.add("enter")
        def _send(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _begin_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        self._messages: PromptSession[str] = PromptSession(
            history=FileHistory(str(history)) if history else InMemoryHistory(),
            multiline=True,
            key_bindings=keys,
            prompt_continuation="  ",
        )

    def message(self) -> str:
        """Ask for a message, which may have several lines.

        Raises:
            EOFError: The person quit; `KeyboardInterrupt`: cleared the line.
        """
        return self._messages.prompt("> ")

    def line(self, question: str, text: str = "") -> str:
        """Ask for one line, with a text to edit.

        Raises:
            EOFError: The person refused to answer; `KeyboardInterrupt` likewise.
        """
        return prompt(question, default=text)


class ChatSession:
    """A chat on a terminal."""

    def __init__(
        self,
        client: ThalwegClient,
        printer: Printer,
        editor: LineEditor,
        model: str,
        place: str = "",
    ) -> None:
        """Begin it.

        Args:
            client: The client of the gateway.
            printer: Writes to the terminal.
            editor: Asks for lines.
            model: The model that answers; empty: the gateway's default.
            place: The person's folder and project, for the agent.
        """
        self._client = client
        self._printer = printer
        self._editor = editor
        self._model = model
        self._place = place
        self._thread = ""
        self._memory: MemoryMode = "on"
        self._questions: tuple[Question, ...] = ()
        self._is_unanswered = False
        """Whether the last question failed: it is not sent again with the next one."""
        self._is_over = False

    def run(self, thread: str = "", first: str = "") -> None:
        """Chat until the person quits.

        Args:
            thread: The thread to continue; by default a new one.
            first: A message that is there already.
        """
        self._guarded(lambda: self._open_thread(thread))
        line = first
        while not self._is_over:
            self._answer_questions()
            if line.strip():
                self._guarded(lambda: self._take(line.strip()))  # noqa: B023 (called at once)
                line = ""
                continue
            try:
                line = self._editor.message()
            except EOFError:
                return
            except KeyboardInterrupt:
                self._guarded(lambda: self._printer.line("Ctrl-D quits; the thread is kept"))
            self._printer.begin()

    def _open_thread(self, thread: str) -> None:
        """Continue a thread; an empty name begins one."""
        self._thread, self._questions, self._is_unanswered = thread or new_thread(), (), False
        if not thread:
            return
        try:
            state = self._client.get_state(thread)
        except NoSuchThreadError:
            return
        self._printer.line(f"thread {thread}")
        for text in last_exchange(self._client.get_history(thread, limit=_LAST).items):
            self._printer.write(f"{text}\n", "answer")
        self._questions = state.questions
        if agent := state.thread.recorded_by:
            self._printer.line(f"recorded by {agent}: read only; /branch continues from its end")
        elif state.thread.run:
            self._follow(self._client.join_stream(thread, state.thread.run))
        elif (runs := self._client.list_runs(thread, limit=1).items) and runs[0].status == "failed":
            self._note_unanswered()

    # -- commands --------------------------------------------------------------------------

    def _take(self, line: str) -> None:
        """Process a typed line: a command, or a message."""
        if line.startswith("/") and not line.startswith("//"):
            self._perform(line)
            return
        try:
            self._follow(self._stream(line.removeprefix("/") if line.startswith("//") else line))
        except BusyError as error:
            self._printer.line("an answer is in progress; send your message again after it")
            self._follow(self._client.join_stream(self._thread, error.run))

    def _perform(self, line: str) -> None:
        name, _, rest = line.removeprefix("/").partition(" ")
        name, rest = name.lower(), rest.strip()
        if name not in COMMANDS:
            near = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
            fix = f"did you mean /{near[0]}?" if near else "/help lists the commands"
            self._printer.error(f"there is no /{name}; {fix}")
        elif listing := COMMANDS[name][2]:
            self._printer.line("\n".join(listing(self._client, self._thread, rest)))
        else:
            self._change(name, rest)

    def _change(self, name: str, rest: str) -> None:
        """Perform a command that changes the chat."""
        match name:
            case "retry":
                self._follow(self._stream(retry=True))
            case "model":
                self._use_model(rest)
            case "memory":
                self._use_memory(rest)
            case "thread":
                self._open_thread(self._client.get_thread(rest or self._thread).id)
            case "new":
                self._open_thread("")
            case "branch":
                turn = int(rest) if rest.isdecimal() else None
                self._open_thread(self._client.branch_thread(self._thread, turn=turn).id)
            case "help":
                rows = [(f"/{command} {row[0]}", row[1]) for command, row in COMMANDS.items()]
                self._printer.line("\n".join([*table(rows), _KEYS]))
            case "quit":
                self._is_over = True

    def _use_model(self, name: str) -> None:
        """List the models, or change the one that answers."""
        models = self._client.list_models().items
        if not name:
            self._printer.line("\n".join(model.name for model in models))
            return
        if ":" not in name:  # else it may be one that no settings name
            self._client.get_model(name)
        self._model = name
        self._printer.line(f"{name} answers from now on")

    def _use_memory(self, rest: str) -> None:
        """Show or search memory, forget, or set its mode."""
        printer, client = self._printer, self._client
        words = rest.removeprefix("forget ").strip()
        question = f"Permanently delete everything in memory that contains {words!r}? [y/N] "
        if modes := [mode for mode in MODES if mode == rest]:
            self._memory = modes[0]
            printer.line(f"memory is {rest} for the next messages")
        elif words == rest:
            printer.line("\n".join(memory_lines(client, rest)))
        elif self._editor.line(question).strip().lower() in {"y", "yes"}:
            gone = client.forget_memory(words=words)
            printer.line(f"deleted: {count(gone.facts, 'fact')}, {count(gone.turns, 'turn')}")

    # -- runs ------------------------------------------------------------------------------

    def _stream(
        self, text: str | None = None, *, resume: JsonValue = None, retry: bool = False
    ) -> BlockingStream:
        return self._client.stream(
            text,
            self._thread,
            resume=resume,
            retry=retry,
            unanswered="drop" if text is not None and self._is_unanswered else "keep",
            model=self._model or None,
            memory=self._memory,
            place=self._place or None,
            if_busy="reject",
        )

    def _follow(self, stream: BlockingStream) -> None:
        """Write a run, and what follows from its end."""
        self._questions, self._is_unanswered, printer = (), False, self._printer
        run = follow(self._client, stream, RunPrinter(printer, self._model), printer)
        match run.end:
            case RunFailed(problem=problem):
                printer.error(problem.detail or problem.title)
                if problem.code != AnswerError.code:  # then there was nothing to retry
                    self._note_unanswered()
            case RunCancelled() if run.has_output:
                printer.line("stopped; /retry repeats it")
            case RunCancelled():
                self._note_unanswered()
            case RunInterrupted(questions=questions):
                self._questions = questions
            case RunCompleted():
                spent = self._client.get_thread_usage(self._thread)
                tokens = sum(spent.sections.values())
                share = f" ({tokens / spent.limit:.0%})" if spent.limit else ""
                cost = money(spent.total.cost, spent.total.currency)
                printer.line(f"{tokens:,} of {spent.limit:,} tokens{share} · {cost}")

    def _note_unanswered(self) -> None:
        self._is_unanswered = True
        self._printer.line("not answered: /retry repeats it; a new message is sent without it")

    def _guarded(self, work: Callable[[], object]) -> None:
        """Perform a step; print its error and continue the chat."""
        try:
            work()
        except (ThalwegError, OSError) as error:
            self._printer.error(str(error))
        except (EOFError, KeyboardInterrupt):
            self._printer.line("interrupted")
        self._printer.end_line()

    # -- questions of the agent ------------------------------------------------------------

    def _answer_questions(self) -> None:
        """Ask the open questions of the agent until there are none."""
        while self._questions:
            try:
                answer = answer_to(
                    self._questions, self._decide, lambda words: self._editor.line(f"{words} ")
                )
            except (EOFError, KeyboardInterrupt):
                self._questions = ()
                self._guarded(lambda: self._printer.line("still open: --continue repeats it"))
                return
            self._printer.begin()
            self._guarded(lambda: self._follow(self._stream(resume=answer)))  # noqa: B023 (at once)

    def _decide(self, action: Action) -> JsonValue:
        """Ask for a decision until a line has one."""
        rows = [f"The agent asks to call {action.name}"]
        for name, value in action.arguments.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            rows.append(f"  {name}: " + text.replace("\n", "\n    "))
        self._printer.write("\n".join(rows), "question")
        text = ""
        while True:
            self._printer.end_line()
            line = self._editor.line(f"{action.choices}? ", text)
            text = ""
            if line.strip() in {"e", "edit"} and "edit" in action.allowed:
                text = f"e {json.dumps(dict(action.arguments), ensure_ascii=False)}"
                continue
            try:
                if (decision := read_decision(line, action)) is not None:
                    return decision
            except ValueError as error:
                self._printer.error(f"the arguments are no JSON object: {error}")
                text = line
