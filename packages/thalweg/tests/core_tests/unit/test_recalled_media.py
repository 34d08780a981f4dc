"""Media in results of `recall`: which are returned, and how the others are read."""

import re
from collections.abc import Iterator

import pytest

from core_tests.media_blocks import PDF, PNG, WAV, png
from thalweg.archive import Archive, Logged, Span, ThreadKey, open_archive, recall
from thalweg.archive.recall_tool import recall_content
from thalweg.archive.recalled_media import OUTLINE_TOKENS, MediaRoom, Recalled
from thalweg.engine.entries import Media, Message, Part, Text
from thalweg.engine.media.table import MediaLimits
from thalweg.engine.wires.fields import opaque
from thalweg.engine.wires.langchain import read_content, write_content

KEY = ThreadKey("ada", "t1")
ROOM = MediaRoom(tokens=50_000, bytes=10_000_000, number=20, model="anthropic:claude-sonnet-4-6")
IMAGE, DOCUMENT, SOUND = (
    Media("image/png", PNG),
    Media("application/pdf", PDF),
    Media("audio/wav", WAV),
)


@pytest.fixture
def archive() -> Iterator[Archive]:
    with open_archive(":memory:") as opened:
        yield opened


def log(archive: Archive, *messages: Message) -> str:
    """Append messages, and return a reference to all of them."""
    length = archive.append(KEY, [Logged(message) for message in messages])
    return archive.handle(KEY, Span(length - len(messages), length - 1))


def user(*parts: Part) -> Message:
    return Message("user", parts)


def read(archive: Archive, handle: str, room: MediaRoom = ROOM, **asked: object) -> Recalled:
    return recall_content(archive, KEY, handle=handle, room=room, **asked)  # type: ignore[arg-type]


def call_in(text: str) -> dict[str, object]:
    """Return the arguments of the call that a text names for media that it has not."""
    found = re.search(r'read it with recall\(handle="([^"]+)"(?:, chars=\[(\d+), (\d+)\])?\)', text)
    assert found is not None, text
    chars = [int(found[2]), int(found[3])] if found[2] else None
    return {"handle": found[1], "chars": chars}


def test_a_message_is_returned_with_its_media(archive: Archive) -> None:
    handle = log(archive, user(Text("the plan:"), IMAGE, DOCUMENT))
    found = read(archive, handle)

    assert found.media == (IMAGE, DOCUMENT)
    assert found.text.startswith("the plan:\n[image/png, 14,528 bytes, 80 x 60]\n[application/pdf")
    assert (
        "[with this result: #0 image/png, 14,528 bytes, 80 x 60; #0 application/pdf" in found.text
    )
    assert ", 1 page" in found.text


def test_several_messages_are_returned_with_theirs(archive: Archive) -> None:
    handle = log(archive, user(Text("one"), IMAGE), user(Text("two")), user(SOUND))
    assert read(archive, handle).media == (IMAGE, SOUND)
    assert read(archive, f"{handle}#1-2").media == (SOUND,)
    assert read(archive, f"{handle}#1").media == ()


def test_following_what_is_said_of_the_others_leads_to_all_of_them(archive: Archive) -> None:
    """One call returns as many as fit; the text names the characters of the next ones."""
    images = [Media("image/png", png(90 + n, 40)) for n in range(12)]
    handle = log(archive, user(Text("look"), *images))
    room = MediaRoom(tokens=50_000, bytes=10_000_000, number=5)
    seen: list[Media] = []
    asked: dict[str, object] = {"handle": handle}

    for _ in range(9):
        found = recall_content(archive, KEY, room=room, **asked)  # type: ignore[arg-type]
        assert 0 < len(found.media) <= 5
        seen += found.media
        if len(seen) == len(images):
            break
        asked = call_in(found.text)

    assert seen == images


@pytest.mark.parametrize(
    "room",
    [
        MediaRoom(tokens=400, bytes=10_000_000, number=9, model="anthropic:claude-sonnet-4-6"),
        MediaRoom(tokens=50_000, bytes=1_000, number=9),
        MediaRoom(50_000, 10_000_000, 9, limits=MediaLimits(image_edge=100)),
        MediaRoom(tokens=50_000, bytes=10_000_000, number=0),
    ],
)
def test_what_no_call_can_return_is_named_with_a_way_out(archive: Archive, room: MediaRoom) -> None:
    large = Media("image/png", png(800, 600))
    found = read(archive, log(archive, user(Text("look"), large)), room)

    assert found.media == ()
    assert "not shown, since this model does not accept it or its window has no room" in found.text
    assert "A smaller copy" in found.text


def test_an_outline_has_few_media_and_says_how_to_read_one(archive: Archive) -> None:
    photo = Media("image/png", png(1_100, 1_000))
    pages = [user(Text(f"page {n} {'word ' * 400}"), photo) for n in range(12)]
    handle = log(archive, *pages)
    found = read(
        archive, handle, MediaRoom(100_000, 100_000_000, 50, "anthropic:claude-sonnet-4-6")
    )

    assert 0 < len(found.media) <= OUTLINE_TOKENS // 1_000
    assert f'read it with recall(handle="{handle}#POSITION")' in found.text
    assert read(archive, f"{handle}#11").media == (photo,)


def test_a_piece_of_a_text_has_the_media_in_it(archive: Archive) -> None:
    handle = log(archive, user(Text("a\nb"), IMAGE, Text("c"), DOCUMENT))
    assert read(archive, handle, lines=[1, 3]).media == (IMAGE,)
    assert read(archive, handle, lines=[5, 5]).media == (DOCUMENT,)
    assert read(archive, handle, lines=[1, 2]).media == ()
    assert "not with this result: #0 image/png" in read(archive, handle, lines=[1, 2]).text


def test_a_place_for_text_alone_says_so(archive: Archive) -> None:
    handle = log(archive, user(Text("look"), IMAGE))
    text = recall(archive, KEY, handle=handle)
    assert "[named only, since this tool returns text: #0 image/png, 14,528 bytes" in text
    assert PNG[:50] not in text


def test_a_block_of_an_unknown_type_is_returned_as_it_came(archive: Archive) -> None:
    """Also from the log of an older version, which has its JSON."""
    block = {"type": "hologram", "payload": WAV, "angle": 7}
    new = read_content([block], (), 0, [])
    old = opaque("langchain", block)
    for part in (*new, old):
        found = read(archive, log(archive, user(Text("look"), part)))
        assert write_content(found.media) == [block]
        assert "hologram, 1,644 bytes" in found.text
        assert WAV[:50] not in found.text


def test_encrypted_state_of_an_answer_is_neither_returned_nor_a_text(archive: Archive) -> None:
    block = opaque("langchain", {"type": "compaction", "encrypted_content": WAV})
    found = read(archive, log(archive, Message("assistant", (Text("so far"), block))))
    assert found.media == ()
    assert WAV[:50] not in found.text


def test_bytes_are_stored_once(archive: Archive) -> None:
    """What `recall` read back is in the log again, by a reference to the same blob."""
    handle = log(archive, user(Text("look"), DOCUMENT))
    found = read(archive, handle)
    log(archive, Message("tool", (Text(found.text), *found.media), name="recall", answers="c1"))

    with archive._database.reading("ada") as db:  # noqa: SLF001
        (blobs,) = db.row("SELECT COUNT(*) FROM archive_blob")
    assert blobs == 1


def test_a_position_outside_is_answered_with_those_there_are(archive: Archive) -> None:
    handle = log(archive, user(Text("one")), user(Text("two")))
    problem = f"{handle}: it has no position 99; it has 0-1"
    assert read(archive, f"{handle}#99").text == problem
    assert recall(archive, KEY, handle=f"{handle}#99", query="one") == problem
    assert "it has no position 1-5; it has 0-1" in recall(archive, KEY, handle=f"{handle}#1-5")
