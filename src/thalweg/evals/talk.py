"""The user of a case: speaks with an agent, and fills its context as far as a case wants."""

from math import ceil

from thalweg.evals.base import MAIN, Agent, Forgets, Language, Setting
from thalweg.evals.paging import Pages
from thalweg.evals.recorder import Recorder
from thalweg.evals.trace import Trace, Turn

_FORGET = "Please forget everything about the {words}, and never tell it again."
PAGES_PER_COMPACTION = 5
"""Into how many pages the room of a conversation is divided."""
PATIENCE = 4
"""How many times as many pages are read before it is taken that nothing will be compacted."""
LEAST_TOKENS, MOST_TOKENS, MOST_SHARE = 60, 12_000, 0.15
"""Of a page: tokens, and the share of the window. A longer one would be set aside as a whole, by
harnesses that do so with large results."""
TRIGGER = 0.85
"""The share of the window at which an agent is taken to compact whose trigger is not forced."""
LEAST_ROOM = 1 / 3
"""Of the tokens at the trigger: the room of a conversation, however much is fixed."""


class Talk:
    """A conversation with an agent, recorded."""

    def __init__(self, agent: Agent, setting: Setting, pages: Pages, trace: Trace) -> None:
        self.trace = trace
        self._agent = agent
        self._setting = setting
        self._pages = pages
        self._recorder = Recorder(trace, has_tools=bool(setting.tools))

    def say(self, text: str, thread: str = MAIN) -> str:
        """Say something; gives the answer.

        What the agent raises is noted, and goes on to the caller.
        """
        self._recorder.thread = thread
        self._recorder.turn = len(self.trace.turns)
        try:
            answer = self._agent.say(text, thread, [self._recorder])
        except BaseException as error:
            self.trace.turns.append(Turn(thread, text, "", f"{type(error).__name__}: {error}"))
            raise
        self.trace.turns.append(Turn(thread, text, answer))
        self.trace.files = self._agent.files()
        return answer

    def fill(self, compactions: int, thread: str = MAIN, language: Language = "en") -> None:
        """Have pages read until the context was compacted so often, or nothing comes of it."""
        has_tools = bool(self._setting.tools)
        before = len(self.trace.compactions(thread))
        left = float(PATIENCE * PAGES_PER_COMPACTION * compactions)
        self._pages.language = language
        while len(self.trace.compactions(thread)) - before < compactions and left > 0:
            room = self._room(thread)
            self._pages.tokens = page_tokens(room, self._setting.window)
            pages = ceil(room / self._pages.tokens)
            left -= min(1, PAGES_PER_COMPACTION / pages)
            self.say(self._pages.ask(has_tools=has_tools), thread)

    def page_tokens(self, thread: str = MAIN) -> int:
        """See `Speaks.page_tokens`."""
        return page_tokens(self._room(thread), self._setting.window)

    def settle(self) -> None:
        """Let the agent learn what it learns in the background."""
        self._agent.settle()

    def forget(self, words: str, thread: str = MAIN) -> None:
        """Have what has these words forgotten, in the agent's way or, without one, by asking."""
        if not (isinstance(self._agent, Forgets) and self._agent.forget(words)):
            self.say(_FORGET.format(words=words), thread)

    @property
    def room(self) -> int:
        """See `Speaks.room`."""
        return int(self._room(MAIN))

    def _room(self, thread: str) -> float:
        """Count the tokens that a conversation has until it is compacted."""
        at = (self._setting.trigger or TRIGGER) * self._setting.window
        agents = self.trace.agents(thread)
        fixed = agents[-1].fixed if agents else 0
        return max(at - fixed, at * LEAST_ROOM)


def page_tokens(room: float, window: int) -> int:
    """Size a page so that some of them fill a room, and none the window.

    Args:
        room: Tokens.
        window: Tokens.
    """
    most = min(MOST_TOKENS, MOST_SHARE * window)
    return int(max(LEAST_TOKENS, min(room / PAGES_PER_COMPACTION, most)))
