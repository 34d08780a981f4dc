"""What the arena measures and keeps: one row per thread, policy, window and tariff."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

import thalweg
from benchmarks.arena.policies import ORACLE

TARIFFS = ("anthropic", "openai", "deepseek", "gemini")
WINDOWS = (32_000, 128_000, 200_000)
OURS, RECORD = "thalweg", "thalweg-record"
PRESETS = ("thalweg-frugal", "thalweg-careful")
"""The presets of `cost` besides the default."""
DEEPAGENTS = "peer:deepagents"
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

_MEASURES = ("arena/contestants", "arena/oracle", "arena/workloads", "formats")
"""Folders of the benchmarks with code that a row depends on."""
_ONLY_OURS = ("engine/compaction/", "engine/summaries/", "engine/settings")
"""Files that change what our policies do and nothing that a peer is measured by."""
_NEVER = (
    "agent/",
    "archive/threads/",
    "cli/",
    "client/",
    "lab/evals/",
    "lab/pages/",
    "lab/replay/page/",
    "lab/replay/payload",
    "lab/replay/report",
    "memory/",
    "middleware/",
    "recorder/",
    "server/",
    "testing/",
)


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
    by_call: tuple[float, ...] = ()
    """Costs call by call, of scripted threads."""
    failed: str = ""
    """Why there are no figures."""


def key_of(row: Row) -> tuple[str, str, int, str]:
    """Return the key that distinguishes rows."""
    return row.trajectory, row.policy, row.window, row.tariff


def fingerprint(policy: str) -> str:
    """Name the state of the code that a row of this policy depends on."""
    library, benchmarks = Path(thalweg.__file__).parent, Path(__file__).parents[1]
    files = [(path.relative_to(library).as_posix(), path) for path in library.rglob("*")]
    files += [
        (path.relative_to(benchmarks).as_posix(), path)
        for folder in _MEASURES
        for path in (benchmarks / folder).rglob("*")
    ]
    digest = hashlib.sha256()
    for name, path in sorted(files):
        if path.suffix not in {".py", ".toml", ".md"} or name.startswith(_NEVER):
            continue
        if policy.startswith("peer:") and name.startswith(_ONLY_OURS):
            continue
        digest.update(name.encode() + path.read_bytes())
    if policy.startswith("peer:"):
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
    """Rows in a file, kept from one run to the next; a row of other code is measured again."""

    def __init__(self, file: Path, *, any_code: bool = False) -> None:
        self._file = file
        self._prints: dict[bool, str] = {}
        self.rows: dict[tuple[str, str, int, str], Row] = {}
        for kept in _kept(file):
            if any_code or kept.code == self._print(kept.row.policy):
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
