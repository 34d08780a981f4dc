"""What the arena measures and keeps: one row per thread, policy, window and tariff."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

import benchmarks
import thalweg
import thalweg_recorder
from benchmarks.arena.policies import ORACLE

TARIFFS = ("anthropic", "openai", "deepseek", "gemini")
WINDOWS = (32_000, 128_000, 200_000)
OURS, RECORD = "thalweg", "thalweg-record"
PRESETS = ("thalweg-frugal", "thalweg-careful")
"""The presets of `cost` besides the default."""
DEEPAGENTS = "peer:deepagents"
DETAILED = "anthropic"
"""The tariff whose figures are listed in full."""
SHARES = (0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.7, 0.85)
FIXED = tuple(f"{OURS}@{share}" for share in SHARES)
"""Fixed triggers of our own policy's steps."""
PEERS = (
    DEEPAGENTS,
    f"{DEEPAGENTS}@0.25",
    f"{DEEPAGENTS}@0.5",
    "peer:langchain-summarization",
    "peer:langchain-editing",
    "peer:strands",
    "peer:headroom",
)
POLICIES = (OURS, *PRESETS, RECORD, *PEERS, *FIXED, ORACLE)
PACKAGES = ("deepagents", "langchain", "strands-agents", "headroom-ai")
"""Peers' packages, whose versions the page lists."""
RECORDED = "recorded"
"""The group of all recorded threads; a scripted one is a group of its own."""

_PARTS = (
    (thalweg, ("engine", "archive")),
    (thalweg_recorder, ("recordings", "replay")),
    (benchmarks, ("arena/contestants", "arena/oracle", "arena/workloads", "formats")),
)
"""Packages, and their folders with code that a row depends on."""
_OURS_ALONE = ("engine/compaction/", "engine/summaries/", "engine/settings.py", "replay/ours.py")
"""Files that change our policies and no measurement of a peer."""
_PAGES = ("replay/page/", "replay/payload.py", "replay/report.py")
"""Files that only render figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BillParts:
    """The whole bill of a thread, by its parts, in units of one uncached input token."""

    plain: float = 0.0
    """Messages that are neither read from the cache nor written to it."""
    reads: float = 0.0
    writes: float = 0.0
    system: float = 0.0
    """The recorded agent's system prompt and tools in every request, if its log states usage."""
    recall: float = 0.0
    """The definition of our tool in every request; prompts and tools of a peer are omitted."""
    output: float = 0.0
    """Of the recorded answers, with the reasoning that their log has."""
    summaries: float = 0.0
    """Input and output of the summarizer."""
    steps: float = 0.0
    """Further calls for removed content, with their output."""

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return float(sum(astuple(self)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thread under one policy, in one window, at one tariff's prices."""

    group: str
    trajectory: str
    policy: str
    window: int
    tariff: str
    whole_tokens: int
    """Of the thread, sent whole."""
    calls: int = 0
    cold: int = 0
    """Calls that found nothing of the thread in the cache."""
    peak: int = 0
    over: int = 0
    invalid: int = 0
    input: int = 0
    cached: int = 0
    breaks: int = 0
    summaries: int = 0
    cost: float = 0.0
    """Summaries included, steps to removed content not."""
    cost_with_steps: float = 0.0
    cost_with_faults: float = 0.0
    """The former measure of them."""
    cost_unmanaged: float = 0.0
    steps: int = 0
    """Calls that later uses of removed content need."""
    steps_lost: int = 0
    """Such uses that no call helps."""
    faults: int = 0
    faults_lost: int = 0
    inline: int = 0
    search: int = 0
    lost: int = 0
    goals: int = 0
    goals_lost: int = 0
    evicted: int = 0
    unread: int = 0
    sets: float = 0.0
    """Of the oracle only: the least that any policy pays; `cost` is its best schedule."""
    bill: BillParts = BillParts()
    by_call: tuple[float, ...] = ()
    """Costs call by call, of scripted threads."""
    failed: str = ""
    """Why there are no figures."""

    @property
    def whole_bill(self) -> float:
        """The sum of the parts of the bill."""
        return self.bill.total


def key_of(row: Row) -> tuple[str, str, int, str]:
    """Return the key that distinguishes rows."""
    return row.trajectory, row.policy, row.window, row.tariff


def fingerprint(policy: str) -> str:
    """Name the state of the code that a row of this policy depends on."""
    is_peer, digest = policy.startswith("peer:"), hashlib.sha256()
    for package, folders in _PARTS:
        root = Path(next(iter(package.__path__)))
        for path in sorted(path for folder in folders for path in (root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in {".py", ".toml", ".md"} or name.startswith(_PAGES):
                continue
            if not is_peer or not name.startswith(_OURS_ALONE):
                digest.update(name.encode() + path.read_bytes())
    if is_peer:
        digest.update(repr(versions()).encode())
    return digest.hexdigest()[:16]


def versions() -> dict[str, str]:
    """Return the versions of the peers that are installed."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


class Shelf:
    """Rows in a file, kept from one run to the next; a row of other code is measured again.

    Args:
        file: The rows.
        any_code: Whether rows of peers are kept that other code measured.
    """

    def __init__(self, file: Path, *, any_code: bool = False) -> None:
        self._file = file
        self._prints: dict[bool, str] = {}
        self.rows: dict[tuple[str, str, int, str], Row] = {}
        for kept in _kept(file):
            is_kept = any_code and kept.row.policy.startswith("peer:")
            if is_kept or kept.code == self._print(kept.row.policy):
                self.rows[key_of(kept.row)] = kept.row

    def add(self, rows: Iterable[Row]) -> None:
        """Keep rows, on disk at once."""
        with self._file.open("a", encoding="utf-8") as file:
            for row in rows:
                self.rows[key_of(row)] = row
                kept = _Kept(self._print(row.policy), row)
                file.write(json.dumps(asdict(kept), ensure_ascii=False) + "\n")

    def note(self, rows: Iterable[Row]) -> None:
        """Keep rows for this run only: the next one tries again."""
        self.rows.update((key_of(row), row) for row in rows)

    def missing(
        self, trajectory: str, policy: str, window: int, tariffs: Sequence[str]
    ) -> list[str]:
        """List the tariffs for which there is no row yet."""
        return [t for t in tariffs if (trajectory, policy, window, t) not in self.rows]

    def _print(self, policy: str) -> str:
        kind = policy.startswith("peer:")
        if kind not in self._prints:
            self._prints[kind] = fingerprint(policy)
        return self._prints[kind]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A row on disk."""

    code: str
    """The fingerprint of what measured it."""
    row: Row


_KEPT = TypeAdapter(_Kept)


def _kept(file: Path) -> Iterator[_Kept]:
    """Read the rows of a file; the last line of a run that was killed may be broken."""
    if not file.exists():
        return
    for line in file.read_text(encoding="utf-8").split("\n"):
        try:
            yield _KEPT.validate_json(line)
        except ValidationError:
            continue
