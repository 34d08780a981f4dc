"""A case small enough to talk with any subject: the model names the codes that it sees."""

import re
from dataclasses import dataclass
from pathlib import Path

from langchain_core.tools import BaseTool

from thalweg_evals.base import Agent, Setting, Subject
from thalweg_evals.recorder import Recorder
from thalweg_evals.scripted.mind import COMPETENCES, CaseModel
from thalweg_evals.scripted.moves import Move, Respond, View
from thalweg_evals.trace import Trace

CODE = re.compile(r"\b[A-Z]-\d+\b")


@dataclass
class Codes:
    """Answers with the codes that the request holds."""

    gist: tuple[str, ...] = ()

    def act(self, view: View) -> Move:
        """See `Acts.act`."""
        codes = dict.fromkeys(found[0] for found in view.find_all(CODE))
        return Respond(f"I see {', '.join(codes) or 'none'}.")


class Asked:
    """A conversation with an agent of a subject."""

    def __init__(
        self,
        subject: Subject,
        folder: Path,
        *,
        tools: tuple[BaseTool, ...] = (),
        trigger: float | None = None,
        window: int = 64_000,
    ) -> None:
        model = CaseModel(case=Codes(), competence=COMPETENCES["searcher"], window=window)
        self.setting = Setting(
            model=model, window=window, folder=folder, tools=tools, trigger=trigger
        )
        self.agent: Agent = subject.begin(self.setting)
        self.trace = Trace()
        self._recorder = Recorder(self.trace, has_tools=bool(tools))

    def say(self, text: str, thread: str = "main") -> str:
        """Send a message; return the answer."""
        return self.agent.send(text, thread, [self._recorder])
