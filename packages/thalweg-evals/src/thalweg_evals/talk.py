"""The user of a case: talks to an agent, and fills its context as far as a case requires."""

from math import ceil

from thalweg_evals.base import MAIN, Agent, Forgets, Language, Setting
from thalweg_evals.material.paging import Pages
from thalweg_evals.recorder import Recorder
from thalweg_evals.trace import Trace, TracedTurn

_FORGET = "Please forget everything about the {words}, and never tell it again."
PAGES_PER_COMPACTION = 5
"""Pages that fill a conversation from one compaction to the next."""
PATIENCE = 4
"""Times as many pages are read before the absence of a compaction is accepted."""
LEAST_TOKENS, MOST_TOKENS, MOST_SHARE = 60, 12_000, 0.15
"""Limits of a page: tokens, and the share of the window. Harnesses that offload large results would
remove a longer one as a whole."""
TRIGGER = 0.85
"""Assumed trigger, as a share of the window, of an agent whose trigger is not forced."""
LEAST_ROOM = 1 / 3
"""Least tokens of a conversation, as a share of those at the trigger, for any overhead."""


class Talk:
    """A conversation with an agent, recorded."""

    def __init__(self, agent: Agent, setting: Setting, pages: Pages, trace: Trace) -> None:
        self.trace = trace
        self._agent = agent
        self._setting = setting
        self._pages = pages
        self._recorder = Recorder(trace, has_tools=bool(setting.tools))

    @property
    def window(self) -> int:
        """Tokens that the model accepts."""
        return self._setting.window

    def send(self, text: str, thread: str = MAIN) -> str:
        """Send a message and return the answer.

        An error of the agent is recorded, and raised again.
        """
        self._recorder.thread = thread
        self._recorder.turn = len(self.trace.turns)
        try:
            answer = self._agent.send(text, thread, [self._recorder])
        except BaseException as error:
            self.trace.turns.append(
                TracedTurn(thread, text, "", f"{type(error).__name__}: {error}")
            )
            raise
        self.trace.turns.append(TracedTurn(thread, text, answer))
        self.trace.files = self._agent.files()
        return answer

    def fill(self, compactions: int, thread: str = MAIN, language: Language = "en") -> None:
        """Request pages until the context has been compacted this often, or that fails."""
        has_tools = bool(self._setting.tools)
        before = len(self.trace.compactions(thread))
        left = float(PATIENCE * PAGES_PER_COMPACTION * compactions)
        self._pages.language = language
        while len(self.trace.compactions(thread)) - before < compactions and left > 0:
            room = self._room(thread)
            self._pages.tokens = page_tokens(room, self._setting.window)
            pages = ceil(room / self._pages.tokens)
            left -= min(1, PAGES_PER_COMPACTION / pages)
            self.send(self._pages.ask(has_tools=has_tools), thread)

    def page_tokens(self, thread: str = MAIN) -> int:
        """Return the length of a text of which a few trigger a compaction."""
        return page_tokens(self._room(thread), self._setting.window)

    def settle(self) -> None:
        """Wait until background learning has finished."""
        self._agent.settle()

    def forget(self, words: str, thread: str = MAIN) -> None:
        """Delete memories with these words, by the agent's own command or else by a request."""
        if not (isinstance(self._agent, Forgets) and self._agent.forget(words)):
            self.send(_FORGET.format(words=words), thread)

    @property
    def room(self) -> int:
        """Tokens of a conversation until it is compacted."""
        return int(self._room(MAIN))

    def _room(self, thread: str) -> float:
        """Return the tokens of a conversation until it is compacted."""
        at = (self._setting.trigger or TRIGGER) * self._setting.window
        agents = self.trace.agents(thread)
        fixed = agents[-1].fixed if agents else 0
        return max(at - fixed, at * LEAST_ROOM)


def page_tokens(room: float, window: int) -> int:
    """Return the size of a page, so that a few fill the available tokens, and none the window.

    Args:
        room: Available tokens.
        window: Tokens of the window.
    """
    most = min(MOST_TOKENS, MOST_SHARE * window)
    return int(max(LEAST_TOKENS, min(room / PAGES_PER_COMPACTION, most)))
