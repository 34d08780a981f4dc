"""The user of a case: speaks with an agent, and fills its context as far as a case wants."""


from thalweg.evals.base import MAIN, Agent, Forgets, Setting
from thalweg.evals.paging import Pages
from thalweg.evals.recorder import Recorder
from thalweg.evals.trace import Trace, Turn

PAGES_PER_COMPACTION = 5
"""Into how many pages the room between two compactions is divided."""
PATIENCE = 4
"""How many times as many pages are read before it is taken that nothing will be compacted."""
LEAST_TOKENS, MOST_SHARE = 60, 0.15
"""Of a page: tokens, and the share of the window."""
_FORGET = "Please forget everything about the {words}, and never tell it again."


class Talk:
    """A conversation with an agent, recorded."""

    def __init__(self, agent: Agent, setting: Setting, pages: Pages, trace: Trace) -> None:
        self.trace = trace
        self._agent = agent
        self._setting = setting
        self._pages = pages
        self._recorder = Recorder(trace, has_tools=bool(setting.tools))

    def say(self, text: str, thread: str = MAIN) -> str:
        """Say something; gives the answer."""
        self._recorder.thread = thread
        self._recorder.turn = len(self.trace.turns)
        answer = self._agent.say(text, thread, [self._recorder])
        self.trace.turns.append(Turn(thread, text, answer))
        self.trace.files = self._agent.files()
        return answer

    def fill(self, compactions: int, thread: str = MAIN) -> None:
        """Have pages read until the context was compacted so often, or nothing comes of it."""
        wanted = len(self.trace.compactions(thread)) + compactions
        for _ in range(PATIENCE * PAGES_PER_COMPACTION * compactions):
            if len(self.trace.compactions(thread)) >= wanted:
                return
            self._pages.tokens = self._page_tokens(thread)
            self.say(self._pages.ask(has_tools=bool(self._setting.tools)), thread)

    def settle(self) -> None:
        """Let the agent learn what it learns in the background."""
        self._agent.settle()

    def forget(self, words: str, thread: str = MAIN) -> None:
        """Have what has these words forgotten, in the agent's way or, without one, by asking."""
        if not (isinstance(self._agent, Forgets) and self._agent.forget(words)):
            self.say(_FORGET.format(words=words), thread)

    def _page_tokens(self, thread: str) -> int:
        """Size a page by the room that a conversation has until it is compacted."""
        share, window = self._setting.trigger or 0.85, self._setting.window
        fixed = 0
        if agents := self.trace.agents(thread):
            first = agents[0]
            fixed = first.tokens - sum(
                len(one.text) // 4 for one in first.messages if one.role != "system"
            )
        room = max(share * window - fixed, share * window / 3)
        return int(max(LEAST_TOKENS, min(room / PAGES_PER_COMPACTION, MOST_SHARE * window)))
