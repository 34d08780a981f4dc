"""Frames of a video as images, sampled from a window of seconds.

A video is decoded by PyAV, the extra `video`, in this process: the constants below limit time
and size. Faults of FFmpeg itself are a risk for installations of the extra.
"""

import io
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from thalweg.engine.extras import install_command
from thalweg_agent.prompts import prompt

FRAMES_PER_SECOND: Final = 0.5
"""Frames that `read_file` samples per second; the same as in deepagents."""
MOST_FRAMES: Final = 24
"""Most frames of one read: with `MOST_SIDE` about 11,000 tokens of a model that takes a token for
750 pixels, below the limit of a tool result."""
MOST_SIDE: Final = 768
"""Pixels of the longer side of a frame that is shown."""
MOST_PIXELS: Final = 4096 * 4096
"""Most pixels of a frame that is decoded."""
DECODE_S: Final = 10.0
"""Seconds that one read may decode."""
_QUALITY: Final = 4
"""Quantizer of MJPEG, 2 (best) to 31: a frame of 768 pixels has 30 to 150 kB."""


class VideoError(ValueError):
    """Raised for a video from which no frame can be sampled."""


@lru_cache(maxsize=1)
def video_dependencies_available() -> bool:
    """Return whether the extra `video` is installed."""
    return find_spec("av") is not None


def sample_frames(
    content: bytes, *, offset_seconds: float, duration_seconds: float, sampling_rate: float
) -> list[dict[str, str]]:
    """Sample frames of a video.

    Args:
        content: Bytes of the file.
        offset_seconds: Start of the window, from 0.
        duration_seconds: Length of the window.
        sampling_rate: Frames per second.

    Returns:
        Content blocks: before each image a text with its time, and at the end a text with the
        offset of the next read, if the window has more frames than `MOST_FRAMES`, or decoding
        takes longer than `DECODE_S`.


    Raises:
        VideoError: An argument is out of range, the file cannot be decoded, or the window has no
            frame.
    """
    _check(offset_seconds, duration_seconds, sampling_rate)
    try:
        av: Any = import_module("av")
    except ImportError as error:
        msg = f"no video can be decoded: {error}; {install_command('video')}"
        raise VideoError(msg) from error
    end = offset_seconds + duration_seconds
    try:
        with av.open(io.BytesIO(content)) as container:
            times = _sampled(container, offset_seconds, end, sampling_rate)
            blocks = list(_blocks(av, times, offset_seconds))
    except (av.error.FFmpegError, OSError) as error:
        msg = f"the video cannot be decoded: {error}"
        raise VideoError(msg) from error
    if not any(block["type"] == "image" for block in blocks):
        msg = f"No frames decoded from {offset_seconds:g} s to {end:g} s"
        raise VideoError(msg)
    return blocks


def _check(offset_seconds: float, duration_seconds: float, sampling_rate: float) -> None:
    if offset_seconds < 0:
        msg = f"offset_seconds must be >= 0, got {offset_seconds:g}"
        raise VideoError(msg)
    for name, given in (("duration_seconds", duration_seconds), ("sampling_rate", sampling_rate)):
        if given <= 0:
            msg = f"{name} must be > 0, got {given:g}"
            raise VideoError(msg)


def _sampled(container: Any, start: float, end: float, rate: float) -> Iterator[tuple[float, Any]]:  # noqa: ANN401  # PyAV has no types here
    """Decode a window; yield the first frame at or after each sampled time, with its time.

    The frame is `None` when the time for decoding is over.
    """
    stream = next(iter(container.streams.video), None)
    if stream is None:
        msg = "the file has no video stream"
        raise VideoError(msg)
    if stream.width * stream.height > MOST_PIXELS:
        msg = f"its frames of {stream.width}x{stream.height} pixels are too large"
        raise VideoError(msg)
    base = stream.time_base or Fraction(1, 1_000)
    first = float((stream.start_time or 0) * base)  # a trimmed video does not begin at 0
    if start:
        container.seek(int((first + start) / base), stream=stream)
    deadline = time.monotonic() + DECODE_S
    sample_at = start
    for frame in container.decode(stream):
        at = start if frame.time is None else frame.time - first
        if at >= end:
            return
        if time.monotonic() > deadline:
            yield at, None
            return
        if at >= sample_at - _ROUNDING:
            yield at, frame
            sample_at = start + (int((at - start) * rate + _ROUNDING) + 1) / rate


_ROUNDING: Final = 1e-6


def _jpeg(av: Any, frame: Any) -> bytes:  # noqa: ANN401
    scale = min(1.0, MOST_SIDE / max(frame.width, frame.height))
    width, height = (max(2, int(side * scale) // 2 * 2) for side in (frame.width, frame.height))
    encoder = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuvj420p"
    encoder.time_base = Fraction(1)
    encoder.qmin = encoder.qmax = _QUALITY
    small = frame.reformat(width=width, height=height, format="yuvj420p")
    small.pts = None
    return b"".join(map(bytes, (*encoder.encode(small), *encoder.encode(None))))


def _clock(seconds: float) -> str:
    """Return a time as `HH:MM:SS.mmm`."""
    milliseconds = round(seconds * 1_000)
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest // 1_000:02d}.{rest % 1_000:03d}"


def _blocks(
    av: Any,  # noqa: ANN401 (an extra without types)
    times: Iterable[tuple[float, Any]],
    offset_seconds: float,
) -> Iterator[dict[str, str]]:
    """Yield the content blocks of frames, and where to read on if there are more."""
    for count, (at, frame) in enumerate(times):
        if frame is None or count == MOST_FRAMES:
            offset = int(at) if at > offset_seconds else offset_seconds
            more = prompt("video_more").render(at=_clock(at), offset=offset)
            yield {"type": "text", "text": more}
            return
        data = b64encode(_jpeg(av, frame)).decode("ascii")
        yield {"type": "text", "text": f"Frame at t={_clock(at)}"}
        yield {"type": "image", "base64": data, "mime_type": "image/jpeg"}
