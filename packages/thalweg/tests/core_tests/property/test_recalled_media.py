"""Media of generated messages come back from `recall` as equal blocks, all of them, in order."""

import re
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core_tests.media_blocks import BLOCKS, WAV, Block, png
from thalweg.archive import Logged, Span, ThreadKey, open_archive
from thalweg.archive.recall_tool import recall_content
from thalweg.archive.recalled_media import MediaRoom
from thalweg.engine.entries import Message, Role
from thalweg.engine.tokens import exact_counter
from thalweg.engine.wires.langchain import read_content, write_content

KEY = ThreadKey("ada", "t1")
UNKNOWN: Block = {"type": "hologram", "payload": WAV, "angle": 7}
TEXTS = st.text(max_size=40) | st.sampled_from(["long line " * 900, "many\n" * 900])
TEXT_BLOCKS = TEXTS.filter(bool).map(lambda text: {"type": "text", "text": text})
PICTURES = st.integers(1, 400).map(
    lambda edge: {"type": "image", "base64": png(edge, 9), "mime_type": "image/png"}
)
MEDIA = st.sampled_from([*BLOCKS.values(), UNKNOWN]) | PICTURES
CONTENTS = st.lists(TEXT_BLOCKS | MEDIA, min_size=1, max_size=8)
ROLES: st.SearchStrategy[Role] = st.sampled_from(["user", "tool"])


@given(
    st.lists(st.tuples(ROLES, CONTENTS), min_size=1, max_size=5),
    st.integers(1, 5),
    st.integers(300, 2_000),
)
def test_every_block_of_a_message_comes_back(
    contents: Sequence[tuple[Role, list[Block]]], number: int, max_tokens: int
) -> None:
    """Following each answer's references to the others ends, with all of them."""
    messages = [
        Message(role, (*read_content(one, (), n, []),)) for n, (role, one) in enumerate(contents)
    ]
    room = MediaRoom(tokens=500_000, bytes=100_000_000, number=number)
    with open_archive(":memory:") as archive:
        archive.append(KEY, [Logged(message) for message in messages])
        handle = archive.handle(KEY, Span(0, len(messages) - 1))
        for position, (_, blocks) in enumerate(contents):
            asked: dict[str, Any] | None = {"handle": f"{handle}#{position}"}
            found: list[object] = []
            while asked is not None:
                read = recall_content(archive, KEY, room=room, max_tokens=max_tokens, **asked)
                assert exact_counter()(read.text) <= max_tokens
                assert len(read.media) <= number
                found += write_content(read.media)
                asked = _next(read.text)
            assert found == [block for block in blocks if block["type"] != "text"]


def _next(text: str) -> dict[str, Any] | None:
    found = re.search(r'read it with recall\(handle="([^"]+)", chars=\[(\d+), (\d+)\]\)', text)
    if found is None:
        return None
    return {"handle": found[1], "chars": [int(found[2]), int(found[3])]}
