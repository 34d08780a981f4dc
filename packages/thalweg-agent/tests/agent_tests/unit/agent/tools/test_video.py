"""Frames of a video, of files that FFmpeg itself wrote."""

import asyncio
import io
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langchain.tools import ToolRuntime

from thalweg.engine.media.images import dimensions
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.middleware.filesystem import FilesystemMiddleware
from thalweg_agent.tools import video
from thalweg_agent.tools.video import MOST_FRAMES, MOST_SIDE, VideoError, sample_frames

av: Any = pytest.importorskip("av", reason="the extra `video` is not installed")


def clip(seconds: int, width: int = 64, height: int = 48, start: int = 0) -> bytes:
    """Encode frames of growing brightness, two in a second."""
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as container:
        stream = container.add_stream("mpeg4", rate=2)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(2 * seconds):
            frame = av.VideoFrame(width, height, "gray")
            plane = frame.planes[0]
            plane.update(bytes([min(255, number)]) * plane.buffer_size)
            frame.pts = number + 2 * start
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file.getvalue()


def sampled(content: bytes, offset: float = 0, seconds: float = 100, rate: float = 0.5) -> Any:  # noqa: ANN401
    """Sample frames."""
    return sample_frames(
        content, offset_seconds=offset, duration_seconds=seconds, sampling_rate=rate
    )


def times(blocks: Any) -> list[str]:  # noqa: ANN401
    """Return the times that are named."""
    return [one["text"][-12:] for one in blocks if one.get("text", "").startswith("Frame at")]


def test_frames_come_with_their_times_within_the_window() -> None:
    """A video that was cut out of another begins at 0, too."""
    for content in (clip(9), clip(9, start=600)):
        assert times(sampled(content)) == [f"00:00:0{n}.000" for n in (0, 2, 4, 6, 8)]
        assert times(sampled(content, 3, 4)) == ["00:00:03.000", "00:00:05.000"]
        assert len(times(sampled(content, 1, 1, 2.0))) == 2


def test_a_frame_is_a_small_jpeg() -> None:
    wide = sampled(clip(1, 1600, 900))[1]

    assert wide["mime_type"] == "image/jpeg"
    assert dimensions(wide["base64"]) == (MOST_SIDE, MOST_SIDE * 900 // 1600)
    assert dimensions(sampled(clip(1))[1]["base64"]) == (64, 48)


def test_of_a_long_window_the_first_frames_come_and_where_to_read_on() -> None:
    blocks = sampled(clip(70))

    assert len(times(blocks)) == MOST_FRAMES
    assert blocks[-1]["text"] == "There is more after t=00:00:48.000: read on with offset=48."
    assert times(sampled(clip(70), 48))[0] == "00:00:48.000"


def test_decoding_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "DECODE_S", -1.0)

    with pytest.raises(VideoError, match="No frames decoded"):
        sampled(clip(3))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "cannot be decoded"),
        (b"no video " * 100, "cannot be decoded"),
        (clip(2), "No frames decoded from 50 s to 150 s"),
        (clip(1, 4098, 4098), "4098x4098 pixels are too large"),
    ],
)
def test_a_file_without_frames_is_refused_with_the_reason(content: bytes, problem: str) -> None:
    with pytest.raises(VideoError, match=problem):
        sampled(content, 50 if "50" in problem else 0)


def test_a_video_that_is_cut_off_shows_what_is_there_or_says_why() -> None:
    """This holds for a cut at any byte."""
    content = clip(3)
    for end in range(0, len(content), 97):
        with suppress(VideoError):
            assert times(sampled(content[:end]))


def test_without_the_extra_one_sentence_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        video, "import_module", lambda _: import_module("a_package_that_is_not_there")
    )

    with pytest.raises(VideoError, match=r"pip install .*'av<"):
        sampled(b"")


def read(folder: Path, path: str, content: bytes, **asked: object) -> Any:  # noqa: ANN401
    """Read a file, blocking and awaited; both return the same."""
    (folder / path[1:]).write_bytes(content)
    files = FilesystemMiddleware(backend=FilesystemBackend(folder, virtual_mode=True))
    tool = next(one for one in files.tools if one.name == "read_file")
    runtime: ToolRuntime[Any, Any] = ToolRuntime(
        state={},
        context=None,
        config={},
        stream_writer=lambda _: None,
        tool_call_id="c1",
        store=None,
    )
    given = {"file_path": path, **asked, "runtime": runtime}
    blocking, awaited = tool.invoke(given), asyncio.run(tool.ainvoke(given))
    assert (blocking.content, blocking.status) == (awaited.content, awaited.status)
    return blocking


@pytest.mark.parametrize("ending", ["mp4", "mkv"])
def test_an_agent_reads_a_video_by_seconds(ending: str, tmp_path: Path) -> None:
    """Its result is what it sees: a line that names the window, then the frames."""
    result = read(tmp_path, f"/clip.{ending}", clip(9), offset=4, limit=3)

    assert result.status == "success"
    assert result.content[0]["text"].startswith(f"Frames of /clip.{ending} from 4 s to 7 s")
    assert times(result.content) == ["00:00:04.000", "00:00:06.000"]
    assert result.additional_kwargs["read_file_frame_count"] == 2


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"limit": 0}, "limit must be > 0 for a video, in seconds; it is 0 for /clip.mp4"),
        ({"offset": -1}, "offset_seconds must be >= 0"),
        ({"offset": 90}, "No frames decoded from 90 s"),
    ],
)
def test_a_window_without_frames_is_an_error_of_the_tool(
    asked: dict[str, object], problem: str, tmp_path: Path
) -> None:
    result = read(tmp_path, "/clip.mp4", clip(3), **asked)

    assert result.status == "error"
    assert problem in result.text
