"""The result of a trial, and its serialized form."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from thalweg.engine.pricing.usage import NO_USAGE, Usage
from thalweg_evals.base import Outcome
from thalweg_evals.plan import TrialKey
from thalweg_evals.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a trial."""

    key: TrialKey
    seed: int
    window: int
    verdict: Outcome
    why: str
    """One sentence: the finding, or the missing part."""
    request: int | None = None
    """Number of the request that shows it."""
    value: float | None = None
    """A measured figure; its unit is the probe's."""
    judged: bool = False
    """Whether a model was the judge."""
    compactions: int = 0
    tokens: Usage = NO_USAGE
    """Tokens sent and generated, by the agent and everything that works for it."""
    cost: float | None = 0.0
    """In dollars; `None` if the model's prices are not available."""
    seconds: float = 0.0
    error: str = ""
    """The error that ended the agent, if any."""
    trace: Trace = field(default_factory=Trace, repr=False)

    def to_json(self, *, traced: bool = True) -> dict[str, Any]:
        """Return it as JSON values.

        Args:
            traced: Whether to include every request.
        """
        plain: dict[str, Any] = {"id": self.key.id, "key": asdict(self.key)}
        plain |= {name: getattr(self, name) for name in _FIELDS}
        plain["tokens"] = asdict(self.tokens)
        return plain | {"trace": self.trace.to_plain()} if traced else plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Result":
        """Parse the output of `to_json`.

        Raises:
            KeyError: It has another form; TypeError and ValueError, too.
        """
        return cls(
            key=TrialKey(**plain["key"]),
            tokens=Usage(**plain["tokens"]),
            trace=Trace.from_plain(plain["trace"]),
            **{name: plain[name] for name in _FIELDS},
        )

    def to_line(self) -> str:
        """Return it as a line of a file."""
        return json.dumps(self.to_json(), separators=(",", ":")) + "\n"


_FIELDS = (
    *("seed", "window", "verdict", "why", "request", "value", "judged"),
    *("compactions", "cost", "seconds", "error"),
)
