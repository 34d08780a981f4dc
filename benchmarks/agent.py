"""What an agent costs a turn: on a thread without end, and compared with its peers.

    python -m benchmarks.agent growth [--messages 50000]
    uv run --group bench python -m benchmarks.agent beside [--messages 5000]
    python -m benchmarks.agent overhead
    python -m benchmarks.agent own [--messages 500] [--profile FILE]

Real agents, driven by a chat model that answers at once from a script, with checkpoints in a
SQLite file. `growth`: CPU time and bytes written per turn, time to resume and resident memory,
early and late in one thread. `beside`: the same thread by the agents of others, each in a
process of its own, in turns. `overhead`: CPU time and syncs of a turn next to a bare agent's.
`own`: CPU time of `ContextMiddleware`'s own part of a turn, measured at its edges, and as the
difference to the same agent without it.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from benchmarks.contestants import (
    BARE,
    DEEP,
    OURS,
    OURS_SUMMARIZING,
    SUMMARIZING,
    WHOLE,
    Block,
    Pair,
    Worker,
)
from benchmarks.scripted import MESSAGES_A_TURN

MARKS = (500, 5_000, 20_000, 50_000)
MOST_GROWTH = 1.5
BLOCK = 125
"""Turns in a row that are averaged: ten folds of ours or so."""
RESUMES = 9
"""How often the thread is opened again at each mark, two turns or so after each other."""
BESIDE = (500, 2_000, 5_000)
CONTESTANTS = (OURS, OURS_SUMMARIZING, DEEP, SUMMARIZING, BARE)
STEP = 25
"""Turns that one contestant has before it is the next one's turn."""
PATIENCE_MS = 1_000
"""Who needs more CPU time a turn than this at a mark is not driven further."""
MOST_CPU, MOST_BYTES = 1 / 5, 1 / 10
"""Of the peer's, at the end."""


@dataclass(frozen=True, slots=True)
class Row:
    """What turns cost at one place of a thread."""

    name: str
    messages: int
    cpu_median_ms: float
    cpu_mean_ms: float
    written_median_kb: float
    written_mean_kb: float
    peak_tokens: int
    summaries: int
    rss_mb: float
    files_mb: float
    grown_kb: float | None = None
    """How much the files grew per turn; not reported where old checkpoints were deleted."""
    resume_ms: float = 0.0

    @classmethod
    def of(
        cls,
        name: str,
        messages: int,
        blocks: Sequence[Block],
        *,
        before_mb: float | None = None,
        resumed_s: float = 0.0,
    ) -> "Row":
        """Sum up blocks of turns; `before_mb` is the size of the files before them."""
        turns = [turn for block in blocks for turn in block.turns]
        cpu_ms = [turn.cpu_s * 1e3 for turn in turns]
        written_kb = [turn.written / 1e3 for turn in turns]
        return cls(
            name,
            messages,
            median(cpu_ms),
            mean(cpu_ms),
            median(written_kb),
            mean(written_kb),
            max(block.peak_tokens for block in blocks),
            sum(block.summaries for block in blocks),
            blocks[-1].rss_mb,
            blocks[-1].files_mb,
            None if before_mb is None else (blocks[-1].files_mb - before_mb) * 1e3 / len(turns),
            resumed_s * 1e3,
        )


def _keep(rows: Sequence[Row], path: Path | None) -> None:
    if path:
        plain = [{f: getattr(row, f) for f in Row.__dataclass_fields__} for row in rows]
        path.write_text(json.dumps(plain, indent=1) + "\n")


def growth(messages: int, folder: Path, name: str, save: Path | None) -> bool:
    """Drive one long thread; print what a turn costs early and late."""
    rows: list[Row] = []
    marks = [mark for mark in MARKS if mark <= messages]
    print(_GROWTH_HEAD)
    with Worker(name, folder) as worker:
        done = 0
        for mark in marks:
            worker.drive(mark // MESSAGES_A_TURN - done)
            block, resumed = worker.drive(BLOCK), _resumed(name, folder, mark, worker)
            rows.append(Row.of(name, mark, [block], resumed_s=resumed))
            done = mark // MESSAGES_A_TURN + BLOCK + RESUMES
            print(_growth_line(rows[-1]), flush=True)
            _keep(rows, save)
    ratios: dict[str, float] = {
        field: getattr(rows[-1], field) / getattr(rows[0], field)
        for field in ("cpu_mean_ms", "written_mean_kb", "resume_ms", "rss_mb")
    }
    told = ", ".join(f"{field} {ratio:.2f}" for field, ratio in ratios.items())
    print(f"{marks[-1]} / {marks[0]}: {told} (at most {MOST_GROWTH})")
    return max(ratios.values()) <= MOST_GROWTH


def _resumed(name: str, folder: Path, mark: int, worker: Worker) -> float:
    """Go on in a fresh process for some turns, each on new objects; the driver passes over them.

    Returns:
        CPU seconds from new objects to the first request, the median.
    """
    with Worker(name, folder / "resumed") as other:
        other.drive(2)  # imports and the tokenizer are not what is measured
        other.skip(mark // MESSAGES_A_TURN + BLOCK - 2)
        other.move(folder)
        resumed = median(other.resume(RESUMES))
    shutil.rmtree(folder / "resumed")
    worker.skip(RESUMES)
    return resumed


_GROWTH_HEAD = (
    f"{'messages':>8}{'CPU ms/turn, median':>21}{'mean':>7}{'kB/turn, median':>17}{'mean':>7}"
    f"{'resume ms':>11}{'RSS MB':>8}{'files MB':>10}"
)


def _growth_line(row: Row) -> str:
    return (
        f"{row.messages:8}{row.cpu_median_ms:21.1f}{row.cpu_mean_ms:7.1f}"
        f"{row.written_median_kb:17.0f}{row.written_mean_kb:7.0f}"
        f"{row.resume_ms:11.1f}{row.rss_mb:8.0f}{row.files_mb:10.0f}"
    )


def beside(messages: int, folder: Path, save: Path | None) -> bool:
    """Drive the same thread with every contestant, in turns; print what a turn costs each."""
    rows: list[Row] = []
    marks = [mark // MESSAGES_A_TURN for mark in BESIDE if mark <= messages]
    places = sorted({*marks, *range(BLOCK, marks[-1], BLOCK)})
    print(_BESIDE_HEAD)
    with ExitStack() as stack:
        workers = {
            name: stack.enter_context(Worker(name, folder / name, counts=True))
            for name in CONTESTANTS
        }
        done = 0
        files_mb = {name: 0.0 for name in workers if name not in WHOLE}
        for place in places:
            steps = [min(STEP, place - at) for at in range(done, place, STEP)]
            done = place
            blocks = _in_turns(workers, steps)
            new = [
                Row.of(name, done * MESSAGES_A_TURN, some, before_mb=files_mb.get(name))
                for name, some in blocks.items()
            ]
            files_mb |= {row.name: row.files_mb for row in new if row.name not in WHOLE}
            rows += new
            _keep(rows, save)
            if done in marks:
                print(*map(_beside_line, new), sep="\n", flush=True)
                for row in new:
                    if row.cpu_mean_ms > PATIENCE_MS:
                        del workers[row.name]
    ours, peer = (next(r for r in reversed(rows) if r.name == name) for name in (OURS, DEEP))
    cpu = ours.cpu_mean_ms / peer.cpu_mean_ms
    written = ours.written_mean_kb / peer.written_mean_kb
    print(
        f"ours at {ours.messages} / {DEEP} at {peer.messages}: CPU {cpu:.3f} (at most "
        f"{MOST_CPU:.2f}), bytes {written:.3f} (at most {MOST_BYTES:.2f})"
    )
    return cpu <= MOST_CPU and written <= MOST_BYTES


def _in_turns(workers: Mapping[str, Worker], steps: Sequence[int]) -> dict[str, list[Block]]:
    """Let each drive a step, each time beginning with another."""
    blocks: dict[str, list[Block]] = {name: [] for name in workers}
    names = [*workers]
    for k, step in enumerate(steps):
        shift = k % len(names)
        for name in names[shift:] + names[:shift]:
            blocks[name].append(workers[name].drive(step))
    return blocks


_BESIDE_HEAD = (
    f"{'messages':>8}  {'':24}{'CPU ms/turn, median':>20}{'mean':>8}{'kB/turn, median':>17}"
    f"{'mean':>8}{'files grow':>12}{'peak tokens':>13}{'summaries':>11}"
)


def _beside_line(row: Row) -> str:
    return (
        f"{row.messages:8}  {row.name:24}{row.cpu_median_ms:20.1f}{row.cpu_mean_ms:8.1f}"
        f"{row.written_median_kb:17.0f}{row.written_mean_kb:8.0f}"
        f"{'' if row.grown_kb is None else f'{row.grown_kb:.0f}':>12}"
        f"{row.peak_tokens:13}{row.summaries:11}"
    )


OVERHEAD_TURNS = 13
"""Until 50 messages are there."""


def overhead(folder: Path) -> bool:
    """Print CPU time and syncs per turn on a short thread, ours next to a bare agent's."""
    names = (OURS, BARE)
    blocks: dict[str, list[Block]] = {name: [] for name in names}
    for again in range(REPEATS):
        for name in names[:: 1 if again % 2 else -1]:
            with Worker(name, folder / f"{name}-{again}") as worker:
                worker.drive(3)
                blocks[name].append(worker.drive(OVERHEAD_TURNS - 3))
    rows = [Row.of(name, 50, some) for name, some in blocks.items()]
    syncs = {name: _syncs(name, folder) for name in names}
    print(f"{'up to 50 messages':24}{'CPU ms/turn':>13}{'kB/turn':>9}{'syncs/turn':>12}")
    for row in rows:
        told = f"{syncs[row.name]:12.1f}" if syncs[row.name] else f"{'no strace':>12}"
        print(f"{row.name:24}{row.cpu_median_ms:13.1f}{row.written_median_kb:9.0f}{told}")
    print(f"overhead: {rows[0].cpu_median_ms - rows[1].cpu_median_ms:.1f} ms a turn of two calls")
    return True


REPEATS = 3


def _syncs(name: str, folder: Path) -> float:
    """Count syncs to the disk per turn; 0 where there is no `strace` to count them."""
    strace = shutil.which("strace")
    if strace is None:
        return 0.0
    counted: list[int] = []
    for turns in (3, 13):
        log = folder / f"syncs-{turns}"
        command = [strace, "-f", "-o", str(log), "-e", "trace=fsync,fdatasync"]
        run = f"from benchmarks.contestants import Driver; Driver({name!r}, "
        run += f"{str(folder / f'{name}-syncs-{turns}')!r}, counts=False).drive({turns})"
        subprocess.run([*command, sys.executable, "-c", run], check=True)  # noqa: S603 (our own)
        counted.append(log.read_text().count("sync("))
    return (counted[1] - counted[0]) / 10


OWN_TURNS = 60
"""Turns that are measured, from half of them before the mark."""
OWN_WINDOW = 128_000
MOST_OWN_MS = 3.0
"""CPU time of our own part of a turn of two model calls, the median."""


def own(messages: int, folder: Path, profile: Path | None) -> bool:
    """Print the CPU time of our own part of a turn, and the difference to an agent without it."""
    pair = Pair(folder, OWN_WINDOW)
    for _ in range(messages // MESSAGES_A_TURN - OWN_TURNS // 2):
        pair.turn()
    both = [pair.turn() for _ in range(OWN_TURNS)]
    if profile is not None:
        for _ in range(OWN_TURNS):
            pair.turn(profiled=True)
        pair.profile.dump_stats(profile)
    ours, bare, inside = ([1e3 * spent for spent in column] for column in zip(*both, strict=True))
    more = [with_ours - without for with_ours, without in zip(ours, bare, strict=True)]
    print(f"{'CPU ms per turn at ' + str(messages):32}{'median':>8}{'mean':>8}{'least':>8}")
    for name, times in (
        ("with ContextMiddleware", ours),
        ("without", bare),
        ("difference", more),
        ("inside of ContextMiddleware", inside),
    ):
        print(f"{name:32}{median(times):8.2f}{mean(times):8.2f}{min(times):8.2f}")
    print(f"own part, median: {median(inside):.2f} ms (at most {MOST_OWN_MS})")
    return median(inside) <= MOST_OWN_MS


def main() -> int:
    """Measure and print; fail when a figure is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("growth", "beside", "overhead", "own"))
    parser.add_argument("--messages", type=int, help="50,000; beside 5,000, at least 500; own 500")
    parser.add_argument("--folder", help="where the databases go; a new folder of the system's")
    parser.add_argument("--name", default=OURS, choices=(OURS, OURS_SUMMARIZING), help="(growth)")
    parser.add_argument("--save", type=Path, help="write what was measured there, as JSON")
    parser.add_argument("--profile", type=Path, help="(own) write a profile of our side there")
    options = parser.parse_args()
    if options.what == "beside" and BESIDE[0] > (options.messages or BESIDE[-1]):
        parser.error(f"argument --messages: beside needs at least {BESIDE[0]}")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if options.what == "growth":
            good = growth(options.messages or MARKS[-1], folder, options.name, options.save)
        elif options.what == "beside":
            good = beside(options.messages or BESIDE[-1], folder, options.save)
        elif options.what == "own":
            good = own(options.messages or 500, folder, options.profile)
        else:
            good = overhead(folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
