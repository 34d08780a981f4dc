"""Sessions as other programs logged them, kept in a small window, written for every provider."""

import pytest

from benchmarks.formats import FORMATS
from core_tests.archives import archive_in_memory
from core_tests.property.providers import PROVIDERS
from core_tests.property.writers import WRITERS
from core_tests.recorded import RECORDED, WHY_SKIPPED
from thalweg.archive import Archive, Logged, Span, ThreadKey
from thalweg.engine import TARIFFS, Budget, Engine, RentOrBuy
from thalweg.engine.tokens import exact_counter
from thalweg_recorder.recordings import Recording, find_recordings, read_recording

ORIGINALS = RECORDED / "originals"
KEY = ThreadKey("examiner", "original")


def one_of_each_format() -> list[Recording]:
    """Pick of each log format the longest session that is still quick."""
    chosen: dict[str, Recording] = {}
    for path in find_recordings([ORIGINALS], FORMATS) if ORIGINALS.is_dir() else ():
        recording = read_recording(path, formats=FORMATS)
        best = chosen.get(recording.format)
        if len(recording.messages) < 300 and (
            best is None or len(recording.messages) > len(best.messages)
        ):
            chosen[recording.format] = recording
    return list(chosen.values())


def engine_over(archive: Archive) -> Engine:
    """Make an engine in a small window; its handles come from the archive."""
    return Engine(
        Budget(window=16_000),
        RentOrBuy(TARIFFS["anthropic"]),
        exact_counter(),
        lambda first, last: archive.handle(KEY, Span(first, last)),
    )


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(not ORIGINALS.is_dir(), reason=WHY_SKIPPED)
def test_every_log_format_goes_out_valid_through_every_wire() -> None:
    """Rows that split a batch, response fields, blank blocks: no provider sees them."""
    for recording in one_of_each_format():
        archive = archive_in_memory()
        engine = engine_over(archive)
        for message in recording.messages:
            if message.role == "assistant":
                messages = [item.message for item in engine.prepare()]
                assert engine.problems == ()
                if engine.turn % 5 == 0:
                    for wire, check in PROVIDERS.items():
                        assert check(WRITERS[wire](messages)) == [], (recording.name, wire)
            entry = engine.receive(message)
            archive.append(KEY, [Logged(entry.message)])
