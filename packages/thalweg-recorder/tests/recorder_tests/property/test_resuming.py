"""A log that grows is read from a point on: the archive is that of whole reads."""

import gzip
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.archives import archive_in_memory
from core_tests.recorded import RECORDED, WHY_SKIPPED
from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import read_pages
from thalweg.engine.entries import Part
from thalweg_recorder import import_sessions
from thalweg_recorder.recordings import files

ORIGINALS = sorted((RECORDED / "originals").glob("cc-*.jsonl.gz"))
MOST_BYTES = 400_000
"""Of a log, from its end: an example takes some tenths of a second."""
pytestmark = pytest.mark.skipif(not ORIGINALS, reason=WHY_SKIPPED)


@cache
def _log(path: Path) -> bytes:
    rows = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    size = 0
    for count, row in enumerate(reversed(rows)):
        size += len(row)
        if size > MOST_BYTES:
            return b"".join(rows[len(rows) - count :])
    return b"".join(rows)


def _held(archive: Archive) -> dict[str, tuple[Any, ...]]:
    held = {}
    for name in sorted(archive.threads("local")):
        key = ThreadKey("local", name)
        pages = read_pages(archive, key).values()
        sessions = [{k: v for k, v in one.session.items() if k not in _FILE} for one in pages]
        held[name] = (archive.messages(key), sessions[-1:], [one.line.spans for one in pages][-1:])
    return held


def _parts(held: dict[str, tuple[Any, ...]]) -> Counter[tuple[str, Part]]:
    """Count the parts of all messages: one that was imported in pieces has its parts in several."""
    messages = [message for rows, *_ in held.values() for message in rows]
    return Counter((message.role, part) for message in messages for part in message.parts)


_FILE = ("mtime_ns", "resume", "source")


def _import(folder: Path, pieces: Sequence[bytes], *, whole: bool) -> Archive:
    """Import a log again after each piece is appended."""
    archive = archive_in_memory()
    path = folder / "5f1d3c1e-0000-4000-8000-000000000000.jsonl"
    path.write_bytes(b"")
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        with pytest.MonkeyPatch.context() as patch:
            if whole:
                patch.setattr(files, "open_rest", lambda *_: None)
            for one in import_sessions(archive, [path]):
                assert not one.error or one.new == 0
    return archive


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_a_log_in_pieces_is_imported_as_by_whole_reads(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    log = _log(data.draw(st.sampled_from(ORIGINALS)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=5)))
    pieces = [log[a:b] for a, b in zip([0, *cuts], [*cuts, len(log)], strict=True)]
    folder = tmp_path_factory.mktemp("log")

    resumed = _held(_import(folder, pieces, whole=False))
    assert resumed == _held(_import(folder, pieces, whole=True))
    assert _parts(resumed) == _parts(_held(_import(folder, [log], whole=True)))
