"""Media are sent unless a limit forbids it; a notice states which limit, and how to read them."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_tests.property.driving import Drive
from core_tests.unit.engine.media.test_facts import pdf
from core_tests.unit.engine.threads import call, run, says, scene, steps
from core_tests.unit.test_images import png
from thalweg.engine.compaction.hard_limit import (
    LiveMedia,
    live_media,
    plan_forbidden,
    plan_within_limits,
)
from thalweg.engine.entries import Media, Message, Part, Text
from thalweg.engine.media.table import MediaLimits, limits_for
from thalweg.engine.tokens import Calibration

SMALL = MediaLimits("Acme", "https://acme.example/limits, 2026-11-28")


def image(width: int = 100, height: int = 100, more: int = 0) -> Media:
    raw = png(width, height) + bytes(more)
    return Media("image/png", data=base64.b64encode(raw).decode())


def sent(driven: Drive) -> list[Media]:
    """List the media of the last request."""
    parts = (part for message in driven.requests[-1].messages for part in message.parts)
    return [part for part in parts if isinstance(part, Media)]


def words(driven: Drive) -> str:
    return "\n".join(message.text for message in driven.requests[-1].messages)


def asks(*parts: Part, text: str = "Summarize this.") -> Message:
    return Message("user", (Text(text), *parts))


def shows(call_id: str, *parts: Part, text: str = "done") -> Message:
    return Message("tool", (Text(text), *parts), answers=call_id)


def test_a_document_of_any_price_is_sent_with_the_newest_request() -> None:
    """Only its lower bound has to fit: only the provider can count its tokens."""
    document = pdf("qpdf-230-pages.pdf")
    limits = limits_for("google_genai:gemini-3", 1_000_000)
    driven = run([asks(document)], window=110_000, limits=limits)

    assert sent(driven) == [document]
    assert driven.requests[-1].tokens > 110_000


def test_the_text_of_a_large_message_becomes_a_preview_and_its_media_stay() -> None:
    document, picture = pdf("typst.pdf"), image()
    long = "The log says nothing of interest here. " * 3_000
    driven = run([asks(), call("c1"), shows("c1", document, picture, text=long)], window=60_000)

    assert sent(driven) == [document, picture]
    assert long not in words(driven)
    assert "recall(" in words(driven)


def test_a_long_request_is_shortened_and_its_media_stay() -> None:
    picture = image()
    long = "This is what I think of it. " * 4_000
    driven = run([asks(picture, text=long)], window=60_000)

    assert sent(driven) == [picture]
    assert long not in words(driven)


def test_twenty_pages_as_images_in_one_result_are_sent() -> None:
    pages = [image(1_240, 1_754) for _ in range(20)]
    driven = run([asks(), call("c1"), shows("c1", *pages)], window=120_000)

    assert sent(driven) == pages


FORBIDDEN: list[tuple[Media, dict[str, Any], str, str]] = [
    (image(6_000, 5_200), {"image_patches": 30_000}, "an image of at most 30,000 squares", "6,000"),
    (pdf("qpdf-230-pages.pdf"), {"pages": 229}, "at most 229 pages of a document", "230 pages"),
    (pdf("qpdf-230-pages.pdf"), {"document_pages": 9}, "at most 9 pages of a document", "230"),
    (pdf("typst.pdf"), {"document_bytes": 7_000}, "a document of at most 7,000 bytes", "4 pages"),
    (pdf("typst.pdf"), {"file_bytes": 7_000}, "files of at most 7,000 bytes", "4 pages"),
    (image(more=900), {"image_bytes": 1_000}, "an image of at most 1,000 bytes", "100 x 100"),
    (
        image(8_001, 9),
        {"image_edge": 8_000},
        "an image of at most 8,000 pixels an edge",
        "8,001 x 9 pixels",
    ),
]


@pytest.mark.parametrize(("media", "limit", "figure", "what"), FORBIDDEN)
@pytest.mark.parametrize("in_result", [True, False])
def test_a_file_above_a_published_limit_has_a_notice_and_below_it_is_sent(
    media: Media, limit: dict[str, Any], figure: str, what: str, *, in_result: bool
) -> None:
    thread = [asks(), call("c1"), shows("c1", media)] if in_result else [asks(media)]
    limits = replace(SMALL, **limit)
    above = {name: 100 * most for name, most in limit.items()}
    driven = run(thread, window=200_000, limits=limits)

    assert sent(driven) == []
    assert f"Acme accepts {figure}" in words(driven)
    assert "https://acme.example/limits, 2026-11-28" in words(driven)
    assert what in words(driven)
    assert "recall(" in words(driven)
    assert sent(run(thread, window=200_000, limits=replace(SMALL, **above))) == [media]


def test_a_limit_at_its_figure_is_kept() -> None:
    document = pdf("qpdf-230-pages.pdf")
    edge, size = image(8_000, 9), image(more=900)
    limits = replace(SMALL, pages=230, image_edge=8_000, image_bytes=len(size.data))

    assert sent(run([asks(document, edge, size)], window=2_000_000, limits=limits)) == [
        document,
        edge,
        size,
    ]


def exchanges(number: int, each: int = 1) -> list[Message]:
    """Make turns with images, each of its own size."""
    return [
        message
        for n in range(number)
        for message in (
            asks(*(image(10 + n, 10 + k) for k in range(each)), text=f"Look at {n}."),
            says("I see."),
        )
    ]


def test_of_too_many_images_the_oldest_leave_first_and_some_more() -> None:
    """Else each later message would remove one more, with the prefix that is cached."""
    thread = [*exchanges(30), asks(image(900, 900))]
    driven = run(thread, window=2_000_000, limits=replace(SMALL, images=12))
    widths = [sent_image.data for sent_image in sent(driven)]

    assert len(widths) <= 12
    assert widths[-1] == image(900, 900).data
    assert (
        widths
        == [m.data for m in [*(image(10 + n, 10) for n in range(30)), image(900, 900)]][
            -len(widths) :
        ]
    )
    changed = [request for request in driven.requests if request.edits]
    assert 0 < len(changed) < 10
    assert "Acme accepts at most 12 images in a request" in words(driven)


def test_the_images_of_the_newest_request_leave_last_even_behind_a_result() -> None:
    mine, pages = [image(50, n + 1) for n in range(3)], [image(60, n + 1) for n in range(9)]
    thread = [asks(*mine), call("c1"), shows("c1", *pages)]
    driven = run(thread, window=2_000_000, limits=replace(SMALL, images=10))

    assert [m.data for m in sent(driven)] == [m.data for m in [*mine, *pages[:7]]]
    fewer = run(thread, window=2_000_000, limits=replace(SMALL, images=2))
    assert [m.data for m in sent(fewer)] == [m.data for m in mine[:2]]


def test_pages_of_all_documents_count_together() -> None:
    old, new = pdf("qpdf-230-pages.pdf"), pdf("mupdf.pdf")
    thread = [asks(old), says("Read."), asks(new)]

    assert sent(run(thread, window=2_000_000, limits=replace(SMALL, pages=235))) == [new]
    assert sent(run(thread, window=2_000_000, limits=replace(SMALL, pages=236))) == [old, new]


def test_wide_images_leave_where_there_are_many() -> None:
    wide, many = image(2_001, 10), [image(100, n + 1) for n in range(20)]
    limits = replace(SMALL, many_images=20, many_edge=2_000)

    assert sent(run([asks(wide, *many[:19])], window=2_000_000, limits=limits))[0] == wide
    driven = run([asks(wide, *many)], window=2_000_000, limits=limits)
    assert sent(driven) == many
    assert "2,000 pixels an edge if there are over 20" in words(driven)


def test_bytes_of_a_request_are_bounded_by_its_media_alone_where_that_suffices() -> None:
    old = [asks(image(more=9_000), text="Look."), says("I see.")] * 3
    driven = run(
        [*old, asks(image(more=60_000), text="This one, too.")],
        window=2_000_000,
        max_bytes=100_000,
        limits=SMALL,
    )

    assert [len(m.data) > 60_000 for m in sent(driven)] == [True]
    assert words(driven).count("Look.") == 3
    assert "the model accepts a request of at most 100,000 bytes" in words(driven)
    assert sum(i.size_bytes for i in driven.requests[-1].items) <= 100_000


def test_the_window_forbids_media_last_and_says_so() -> None:
    pictures = [image(1_092, 1_092 - n) for n in range(12)]
    driven = run([*steps(3), asks(*pictures)], window=14_000)
    left = sent(driven)

    assert 0 < len(left) < 12
    assert [m.data for m in left] == [m.data for m in pictures[: len(left)]]
    assert "the window has room for 12,250 tokens" in words(driven)
    assert "Summarize this." in words(driven)


def test_a_price_of_the_provider_is_not_multiplied_by_how_it_counts_text() -> None:
    """Claude counts a third more tokens than we do for a text, and not for a page."""
    document = pdf("qpdf-230-pages.pdf")  # 64,400 tokens at least
    driven = Drive(run([asks(document)], window=80_000).scenario)
    driven.engine.budget = driven.engine.budget.within(SMALL)
    driven.engine.speak_to("google_genai:gemini-3")
    driven.engine.calibration = Calibration(1.33, observations=3)

    assert sent(driven.run()) == [document]
    assert driven.engine.planning_context().budget.limit < 64_400


def test_a_refusal_makes_media_count_in_full() -> None:
    document = pdf("qpdf-230-pages.pdf")
    limits = limits_for("google_genai:gemini-3", 1_000_000)
    thread = [asks(document)]

    trusting = run(thread, window=110_000, limits=limits)
    assert sent(trusting) == [document]
    assert sent(run(thread, window=110_000, limits=limits, trusts_least=False)) == []


def test_another_model_with_lower_limits_gets_notices_for_what_is_there() -> None:
    driven = run([asks(image(3_000, 10)), says("I see."), asks()], window=60_000)
    assert len(sent(driven)) == 1
    budget = driven.engine.budget.within(replace(SMALL, image_edge=2_000))
    driven.engine.budget = budget
    driven.engine.receive(says("Well."))
    driven.entries.append(driven.engine.receive(asks(text="And now?")))
    driven.ask()

    assert sent(driven) == []
    assert "Acme accepts an image of at most 2,000 pixels an edge" in words(driven)


@given(
    images=st.integers(0, 12),
    pages=st.lists(st.sampled_from(["typst.pdf", "cairo.pdf", "mupdf.pdf"]), max_size=4),
    most_images=st.integers(1, 8),
    most_pages=st.integers(1, 16),
    turns=st.integers(1, 4),
)
def test_what_is_left_keeps_every_limit_and_nothing_leaves_without_one(
    images: int, pages: list[str], most_images: int, most_pages: int, turns: int
) -> None:
    parts = [*(image(9, n + 1) for n in range(images)), *map(pdf, pages)]
    limits = replace(SMALL, images=most_images, pages=most_pages)
    messages = [m for _ in range(turns) for m in (asks(*parts), says("ok"))][:-1]
    shown = scene(*messages, window=2_000_000, limits=limits)
    shown.window.apply(plan_forbidden(shown))
    left = live_media(shown)
    counts = len([m for m in left if m.kind == "image"]), _pages_in(left)
    edits = plan_within_limits(shown)

    assert bool(edits) == (counts[0] > most_images or counts[1] > most_pages)
    shown.window.apply(edits)
    left = live_media(shown)
    assert len([m for m in left if m.kind == "image"]) <= most_images
    assert _pages_in(left) <= most_pages
    assert plan_within_limits(shown) == []
    assert shown.window.ledger.media == len(left)


def _pages_in(left: list[LiveMedia]) -> int:
    pages = {"typst.pdf": 4, "cairo.pdf": 5, "mupdf.pdf": 6}
    by_data = {pdf(name).data: number for name, number in pages.items()}
    return sum(by_data.get(one.media.data, 0) for one in left)
