"""The promises of an archive about references and what they read."""

import json

import pytest

from core_tests.contract.suites.archive.values import KEY, ODD, OTHERS, Reopen, said
from thalweg.archive import Archive, Logged, Span, render_passages
from thalweg.engine.entries import Message, Text
from thalweg.engine.tokens import exact_counter
from thalweg.engine.transcript import as_outline, as_text, as_transcript
from thalweg.errors import HandleError, RangeError


class ReferenceContract:
    """References, as tests: created, resolved, released, and read in ranges."""

    def test_the_same_span_has_the_same_handle(self, archive: Archive, reopen: Reopen) -> None:
        """And no other span, thread or owner has it."""
        for key in (KEY, *OTHERS):
            archive.append(key, [said(str(n)) for n in range(4)])
        spans = [Span(first, last) for first in range(4) for last in range(first, 4)]

        named = {archive.handle(KEY, span): span for span in spans}
        others = {archive.handle(key, span) for key in OTHERS for span in spans}

        assert len(named) == len(spans)
        assert not others & set(named)
        assert reopen().handle(KEY, spans[3]) == archive.handle(KEY, spans[3])
        assert reopen().handles(KEY) == named
        assert all(len(name) == 16 and name.isalnum() for name in named)

    @pytest.mark.parametrize("span", [Span(0, 2), Span(-1, 0), Span(1, 0), Span(9, 9)])
    def test_only_what_is_in_the_log_gets_a_handle(self, archive: Archive, span: Span) -> None:
        """The error contains the length of the log."""
        archive.append(KEY, [said("a"), said("b")])

        with pytest.raises(RangeError, match="2 messages"):
            archive.handle(KEY, span)
        assert archive.handles(KEY) == {}

    def test_a_handle_resolves_with_and_without_a_position(self, archive: Archive) -> None:
        """`HANDLE#12` is the message at 12 of the thread, if the span has it."""
        archive.append(KEY, [said(str(n)) for n in range(9)])
        handle = archive.handle(KEY, Span(2, 5))

        assert archive.span(KEY, handle) == Span(2, 5)
        assert archive.span(KEY, f"{handle}#5") == Span(5, 5)
        assert archive.read(KEY, f"{handle}#4").text == "4"

    def test_whatever_names_nothing_is_told_alike(self, archive: Archive) -> None:
        """Guessing learns nothing: one error, one sentence."""
        archive.append(KEY, [said(str(n)) for n in range(9)])
        good = archive.handle(KEY, Span(2, 5))
        wrong = ("", "x", "../../etc/passwd", "a" * 16, f"{good}#1", f"{good}#6", f"{good}#")
        odd = (good.upper(), f" {good}", f"{good}\n", f"{good}#5 ", f"{good}#\u0665", "\ud800" * 16)

        for handle in (*wrong, *odd):
            for ask in (archive.span, archive.read):
                with pytest.raises(HandleError) as caught:
                    ask(KEY, handle)
                assert caught.value.handle == handle
                assert str(caught.value) == str(HandleError(handle))

    def test_a_released_handle_is_held_no_more(self, archive: Archive) -> None:
        """A request for the span returns the same reference and adds it again."""
        archive.append(KEY, [said("a"), said("b")])
        first, second = archive.handle(KEY, Span(0, 0)), archive.handle(KEY, Span(1, 1))

        archive.release(KEY, [first, first])
        archive.prune()

        assert archive.handles(KEY) == {second: Span(1, 1)}
        assert archive.handle(KEY, Span(0, 0)) == first
        assert archive.read(KEY, first).text == "a"

    def test_releasing_an_unknown_handle_is_ignored(self, archive: Archive) -> None:
        """So is one of another thread, which keeps it."""
        archive.append(KEY, [said("a")])
        handle = archive.handle(KEY, Span(0, 0))

        archive.release(OTHERS[0], [handle])
        archive.release(KEY, [type(handle)("nothing"), type(handle)("\ud800")])

        assert archive.handles(KEY) == {handle: Span(0, 0)}

    def test_one_message_reads_as_its_text_and_several_as_a_transcript(
        self, archive: Archive
    ) -> None:
        """To the character, lone surrogates included."""
        archive.append(KEY, [Logged(message) for message in ODD])

        for position, message in enumerate(ODD):
            handle = archive.handle(KEY, Span(position, position))
            assert archive.read(KEY, handle, max_chars=99_999).text == as_text(message)
        whole = archive.read(KEY, archive.handle(KEY, Span(1, 4)), max_chars=99_999)
        assert whole.text == as_transcript(ODD[1:5], 1)
        assert whole.next == ""

    def test_a_handle_names_a_stretch_inside_its_span(self, archive: Archive) -> None:
        """`HANDLE#4-5` is positions 4 and 5 of the thread, if the span has both."""
        archive.append(KEY, [said(str(n)) for n in range(9)])
        handle = archive.handle(KEY, Span(2, 6))

        assert archive.span(KEY, f"{handle}#4-5") == Span(4, 5)
        assert archive.read(KEY, f"{handle}#4-5").text == "#4 user\n4\n\n#5 user\n5"
        assert archive.read(KEY, f"{handle}#2-6") == archive.read(KEY, handle)
        assert archive.read(KEY, f"{handle}#3-3").text == "3"
        for wrong in ("1-3", "5-7", "5-4", "4-", "-4", "4-5-6", "04-5", "4 -5"):
            with pytest.raises(HandleError):
                archive.read(KEY, f"{handle}#{wrong}")

    @pytest.mark.parametrize("max_chars", [1, 200, 1_000, 8_000])
    def test_a_long_span_is_read_as_an_outline_page_by_page(
        self, archive: Archive, max_chars: int
    ) -> None:
        """Each page names the start of the next, and together they list every message."""
        messages = [Message("user", (Text(f"{n} " + "x" * (n * 97 % 999)),)) for n in range(60)]
        archive.append(KEY, [Logged(message) for message in messages])
        name = handle = archive.handle(KEY, Span(5, 59))
        rows: list[str] = []

        while True:
            page = archive.read(KEY, name, max_chars=max_chars)
            assert len(page.text) <= max_chars
            if page.total_chars >= 0:
                break
            rows += page.text.split("\n")
            assert f'recall(handle="{handle}#POSITION")' in page.next
            following = f"{handle}#{5 + len(rows)}-59"
            if following not in page.next:
                break
            name = type(handle)(following)

        outline = as_outline(messages[5:], 5).split("\n")
        assert [row[:max_chars] for row in outline[: len(rows)]] == rows
        assert 5 + len(rows) + (page.total_chars >= 0) * page.text.count("\n\n") >= 59

    def test_lines_are_read_by_number(self, archive: Archive) -> None:
        """From 1, both ends included; past the end there is no more to read."""
        archive.append(KEY, [said("one\r\ntwo\n\nfour\n")])
        handle = archive.handle(KEY, Span(0, 0))

        assert archive.read(KEY, handle, lines=(1, 1)).text == "one\r"
        assert archive.read(KEY, handle, lines=(2, 4)).text == "two\n\nfour\n"
        assert archive.read(KEY, handle, lines=(2, 99)).text == "two\n\nfour\n"
        assert archive.read(KEY, handle, lines=(2, 2)).start == 5
        assert archive.read(KEY, handle).total_lines == 4

    def test_reading_on_by_characters_gives_the_whole(self, archive: Archive) -> None:
        """`next` is there until the end, and pieces add up."""
        text = "".join(f"{n} 漢字\n" for n in range(500))
        archive.append(KEY, [said(text)])
        handle = archive.handle(KEY, Span(0, 0))
        pieces, at = [], 0

        while at < len(text):
            piece = archive.read(KEY, handle, chars=(at, len(text)), max_chars=700)
            assert (piece.start, piece.total_chars) == (at, len(text))
            assert len(piece.text) <= 700
            assert bool(piece.next) == (at + len(piece.text) < len(text))
            pieces.append(piece.text)
            at += len(piece.text)

        assert "".join(pieces) == text

    def test_a_json_path_reads_into_json(self, archive: Archive) -> None:
        """A text found alone comes as it is, everything else as JSON, one value a line."""
        body = {"items": [{"id": 7, "name": "käse\n"}, {"id": 8, "name": "brot"}], "n": None}
        archive.append(KEY, [said(json.dumps(body))])
        handle = archive.handle(KEY, Span(0, 0))

        assert archive.read(KEY, handle, path="$.items[0].name").text == "käse\n"
        assert archive.read(KEY, handle, path="$.items[*].id").text == "7\n8"
        assert archive.read(KEY, handle, path="$.items[?@.id > 7]").text == (
            '{"id": 8, "name": "brot"}'
        )
        assert archive.read(KEY, handle, path="$.n").text == "null"
        assert archive.read(KEY, handle, path="$", max_chars=9).next

    @pytest.mark.parametrize(
        "bad",
        [
            {"lines": (1, 1), "chars": (0, 1)},
            {"lines": (1, 1), "path": "$"},
            {"lines": (0, 1)},
            {"lines": (2, 1)},
            {"lines": (2, 3)},
            {"chars": (-1, 1)},
            {"chars": (1, 1)},
            {"chars": (14, 20)},
            {"path": "$.missing"},
            {"path": "$["},
            {"path": "items"},
            {"path": "$..*..*..*..*"},
            {"path": "$[?search(@, '(a+)+$')]"},
            {"path": "$" + "[?(@" * 90},
            {"path": "$" + ".a" * 9_000},
            {"max_chars": 0},
        ],
    )
    def test_a_range_that_cannot_be_read_is_refused(
        self, archive: Archive, bad: dict[str, tuple[int, int] | str | int]
    ) -> None:
        """The error contains the reference and the available range."""
        archive.append(KEY, [said('{"items": [1]}')])
        handle = archive.handle(KEY, Span(0, 0))

        with pytest.raises(RangeError) as caught:
            archive.read(KEY, handle, **bad)  # type: ignore[arg-type]  # one test for all kinds
        assert caught.value.handle == handle
        assert str(caught.value).startswith(f"{handle}: ")

    @pytest.mark.parametrize("text", ["not json", "", "[" * 100_000, '{"a": 1'])
    def test_a_path_into_what_is_not_json_is_refused(self, archive: Archive, text: str) -> None:
        """However deep it pretends to be."""
        archive.append(KEY, [said(text)])

        with pytest.raises(RangeError, match="not JSON"):
            archive.read(KEY, archive.handle(KEY, Span(0, 0)), path="$")

    def test_megabytes_on_one_line_are_read_in_pieces(self, archive: Archive) -> None:
        """By characters, by path and by search, each bounded."""
        rows = [{"id": n, "note": f"row {n} of the ledger"} for n in range(50_000)]
        rows[40_000]["note"] = "the wombat sleeps here"
        text = json.dumps(rows)
        assert len(text) > 2_000_000
        archive.append(KEY, [said(text, "tool")])
        handle = archive.handle(KEY, Span(0, 0))

        piece = archive.read(KEY, handle, chars=(1_000_000, 2_000_000))
        assert piece.text == text[1_000_000:1_008_000]
        assert archive.read(KEY, handle, path="$[40000].id").text == "40000"
        (first, *_) = found = archive.search(KEY, "where does the wombat sleep?")
        assert "wombat sleeps here" in first.text
        assert text[first.start :].startswith(first.text)
        assert exact_counter()(render_passages(found)) <= 2_000
