"""The input line of a person: several lines, a history, completion, a status below."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from prompt_toolkit import PromptSession, prompt
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import AnyFormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from thalweg.database.private_files import make_private_file, make_private_folder
from thalweg_server.cli.chat.commands import COMMANDS

_STYLE = Style.from_dict(
    {"bottom-toolbar": "noreverse ansibrightblack", "prompt": "bold ansigreen"}
)
_AGAIN_S = 2.0
"""Within it, a second Ctrl-C ends the chat."""
Names = Callable[[str], Sequence[str]]


class MessagePrompt:
    """Asks for the next message."""

    def __init__(self, history: Path | None, status: Callable[[], str], names: Names) -> None:
        """Prepare it.

        Args:
            history: The file of earlier input.
            status: Returns the line below the prompt.
            names: Returns the names that a command can be completed with.
        """
        self._status = status
        self._left_at = -_AGAIN_S
        self._session: PromptSession[str] = PromptSession(
            history=_history(history),
            completer=CommandCompleter(names),
            complete_while_typing=Condition(self._is_command),
            complete_in_thread=True,
            multiline=True,
            key_bindings=self._keys(),
            bottom_toolbar=self._below,
            prompt_continuation="  ",
            enable_open_in_editor=True,
            reserve_space_for_menu=8,
            refresh_interval=0.5,
            style=_STYLE,
        )

    def ask(self) -> str:
        """Ask for a message.

        Raises:
            EOFError: The user ended the chat.
        """
        return self._session.prompt([("class:prompt", "> ")])

    def ask_line(self, question: str, default: str = "") -> str:
        """Ask for one line, or for several if there is a text to edit.

        Raises:
            EOFError: The user refused to answer; `KeyboardInterrupt` likewise.
        """
        is_long = "\n" in default
        below = "Esc, then Enter, sends it; Ctrl-C keeps the question open" if is_long else None
        return prompt(
            question, default=default, multiline=is_long, bottom_toolbar=below, style=_STYLE
        )

    def _is_command(self) -> bool:
        return self._session.default_buffer.text.startswith("/")

    def _below(self) -> AnyFormattedText:
        if time.monotonic() - self._left_at < _AGAIN_S:
            return "Ctrl-C again quits; the thread is kept"
        return self._status()

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter")
        def _send(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _begin_a_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c")
        def _clear(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.reset()
            elif time.monotonic() - self._left_at < _AGAIN_S:
                event.app.exit(exception=EOFError())
            else:
                self._left_at = time.monotonic()

        return keys


class CommandCompleter(Completer):
    """Completes names of commands and their arguments."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._paths = PathCompleter(expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """See `Completer`."""
        typed = document.text_before_cursor
        if not typed.startswith("/") or "\n" in typed:
            return
        name, gap, rest = typed[1:].partition(" ")
        if not gap:
            for command in COMMANDS.values():
                if command.name.startswith(name):
                    yield Completion(
                        command.name,
                        start_position=-len(name),
                        display=f"/{command.name} {command.takes}".strip(),
                        display_meta=command.about,
                    )
        elif name in {"upload", "export"}:
            yield from self._paths.get_completions(Document(rest), complete_event)
        else:
            for each in self._names(name):
                if each.startswith(rest):
                    yield Completion(each, start_position=-len(rest))


def _history(path: Path | None) -> History:
    if path is None:
        return InMemoryHistory()
    try:
        make_private_folder(path.parent)
        make_private_file(path)
    except OSError:
        return InMemoryHistory()  # a home that cannot be written to
    return FileHistory(str(path))
