"""Pages and seconds of real files, and of damaged ones."""

import base64
import io
import random
import tomllib
import wave
from pathlib import Path
from typing import Any

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.entries import Media
from thalweg.engine.media import facts
from thalweg.engine.media.facts import UNREAD, MediaFacts, facts_of, kind_of

PDFS = Path(__file__).parents[7] / "tests" / "sets" / "pdfs"
FILES = tomllib.loads((PDFS / "pages.toml").read_text("utf-8"))["files"]
READABLE = [file for file in FILES if file["pages"]]


def text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def pdf(name: str) -> Media:
    return Media("application/pdf", data=text((PDFS / name).read_bytes()))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file["name"])
def test_pages_of_a_pdf_are_counted_whoever_wrote_it(file: dict[str, object]) -> None:
    assert facts_of(pdf(str(file["name"]))).pages == (file["pages"] or None)


def test_the_set_has_twenty_files_of_different_writers_and_forms() -> None:
    on_disk = {path.name for path in PDFS.glob("*.pdf")}

    assert on_disk == {file["name"] for file in FILES}
    assert len(READABLE) >= 20
    assert len({file["writer"].partition(",")[0].split()[0] for file in READABLE}) >= 12
    assert all((PDFS / name).stat().st_size < 20_000 for name in on_disk)


def test_a_pdf_by_another_name_is_found_by_its_first_bytes() -> None:
    data = pdf("fpdf2.pdf").data

    for mime in ("", "application/octet-stream", "application/x-pdf", "application/PDF; a=b"):
        assert facts_of(Media(mime, data=data)).pages == 4
    assert kind_of(Media("application/zip", data=data)) == "other"


def test_base64_without_padding_or_in_the_alphabet_of_addresses_is_read() -> None:
    raw = (PDFS / "qpdf-objstm.pdf").read_bytes()
    data = base64.urlsafe_b64encode(raw).decode().rstrip("=")

    assert facts_of(Media("application/pdf", data=data)).pages == 5
    lines = base64.encodebytes(raw).decode()
    assert facts_of(Media("application/pdf", data=lines)).pages == 5


@given(file=st.sampled_from(READABLE), data=st.data())
def test_a_pdf_that_is_cut_or_changed_has_pages_or_none_and_never_raises(
    file: dict[str, object], data: st.DataObject
) -> None:
    raw = bytearray((PDFS / str(file["name"])).read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(raw)), st.integers(0, len(raw))))
    pages = facts_of(Media("application/pdf", data=text(bytes(raw[:cut])))).pages

    assert pages is None or 0 < pages <= len(raw)


def test_a_download_that_broke_off_is_not_searched_for_pages() -> None:
    raw = b"%PDF-1.7\n" + random.Random(1).randbytes(3_000_000)  # noqa: S311 (bytes of a scan)

    assert facts_of(Media("application/pdf", data=text(raw))) == UNREAD


def test_a_pdf_that_claims_more_pages_than_its_bytes_hold_is_damaged() -> None:
    raw = (PDFS / "reportlab.pdf").read_bytes()
    claims = raw.replace(b"/Count 3", b"/Count 9999999")

    assert claims != raw
    assert facts_of(Media("application/pdf", data=text(claims))) == UNREAD


def test_a_file_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other texts of the same content, too: a checkpointer makes new ones for each run."""
    parsed: list[int] = []
    count = facts.count_pages

    def counted(raw: bytes) -> int | None:
        parsed.append(len(raw))
        return count(raw)

    monkeypatch.setattr(facts, "count_pages", counted)
    data = pdf("typst.pdf").data + "\n" * 7  # of its own, so that no other test has read it
    for _ in range(5):
        assert facts_of(Media("application/pdf", data="".join(list(data)))).pages == 4

    assert len(parsed) == 1


def sound(name: str, codec: str, rate: int = 16_000) -> bytes:
    """Encode two seconds of silence."""
    body = io.BytesIO()
    with av.open(body, "w", format=name) as container:
        stream: Any = container.add_stream(codec, rate=rate)
        stream.layout = "mono"
        resampler = av.AudioResampler(stream.format.name, "mono", rate)
        frame = av.AudioFrame(format="s16", layout="mono", samples=2 * rate)
        frame.sample_rate = rate
        for plane in frame.planes:
            plane.update(bytes(plane.buffer_size))
        fifo = av.AudioFifo()
        fifo.write(frame)
        while piece := fifo.read(960, partial=True):
            for one in resampler.resample(piece):
                container.mux(stream.encode(one))
        container.mux(stream.encode(None))
    return body.getvalue()


def film(name: str, codec: str) -> bytes:
    """Encode two seconds of black."""
    body = io.BytesIO()
    with av.open(body, "w", format=name) as container:
        stream: Any = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for _ in range(20):
            container.mux(stream.encode(av.VideoFrame(64, 48, "yuv420p")))
        container.mux(stream.encode(None))
    return body.getvalue()


SOUNDS = [
    ("wav", "pcm_s16le", 16_000),
    ("mp3", "libmp3lame", 16_000),
    ("flac", "flac", 16_000),
    ("ogg", "libopus", 48_000),
    ("ipod", "aac", 16_000),
    ("aiff", "pcm_s16be", 16_000),
]


@pytest.mark.parametrize(("name", "codec", "rate"), SOUNDS)
def test_a_sound_has_its_seconds(name: str, codec: str, rate: int) -> None:
    seconds = facts_of(Media(f"audio/{name}", data=text(sound(name, codec, rate)))).seconds

    assert seconds == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize(("name", "codec"), [("mp4", "mpeg4"), ("mov", "mpeg4")])
def test_a_film_has_its_seconds(name: str, codec: str) -> None:
    assert facts_of(Media(f"video/{name}", data=text(film(name, codec)))).seconds == 2


@pytest.mark.parametrize(("name", "codec"), [("avi", "mpeg4"), ("matroska", "mpeg4")])
def test_a_film_of_another_container_is_unread(name: str, codec: str) -> None:
    assert facts_of(Media(f"video/{name}", data=text(film(name, codec)))) == UNREAD


def test_a_recording_whose_header_was_never_completed_has_the_seconds_of_its_bytes() -> None:
    """A microphone is streamed: the sizes in its header are 0, or anything."""
    body = io.BytesIO()
    with wave.open(body, "wb") as recorded:
        recorded.setparams((1, 2, 16_000, 0, "NONE", ""))
        recorded.writeframes(bytes(32_000 * 30))
    raw = bytearray(body.getvalue())
    for sizes in (b"\0\0\0\0", b"\xff\xff\xff\xff"):
        raw[40:44] = sizes
        seconds = facts_of(Media("audio/wav", data=text(bytes(raw)))).seconds
        assert seconds == pytest.approx(30, abs=0.1)


@given(st.binary(max_size=300), st.sampled_from(["audio/mpeg", "video/mp4", "application/pdf"]))
def test_garbage_is_unread_or_short(raw: bytes, mime: str) -> None:
    found = facts_of(Media(mime, data=text(raw)))

    assert found.pages is None or found.pages <= len(raw)
    assert found.seconds is None or found.seconds <= len(raw)


def test_what_is_not_there_by_value_is_unread() -> None:
    assert facts_of(Media("application/pdf", url="https://e.org/a.pdf")) == MediaFacts()
    assert facts_of(Media("audio/wav", data="no base64 at all")) == MediaFacts()
    assert facts_of(Media("image/png", data="iVBORw0KGgo")) == MediaFacts()
