"""What every archive promises."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from thalweg.archive import Archive, Logged, Span, ThreadKey, TurnRow, render_passages
from thalweg.engine.entries import Media, Message, Opaque, Role, Text, Thinking, ToolCall, Usage
from thalweg.engine.extras import needs_extra
from thalweg.engine.tokens import exact_counter
from thalweg.engine.transcript import as_outline, as_text, as_transcript
from thalweg.errors import ArchiveError, ConflictError, HandleError, RangeError

with needs_extra("thalweg.testing.archive"):
    import pytest

Reopen = Callable[[], Archive]

KEY = ThreadKey("ada", "t1")
OTHERS = (ThreadKey("ada", "t2"), ThreadKey("bob", "t1"), ThreadKey("ada\0t1", ""))
ODD = (
    Message("system", (Text("You are helpful.", extra='{"cache_control":{"type":"ephemeral"}}'),)),
    Message("user", (Text("half an emoji \ud83d, a NUL \0, two ends \r\n"), Text("")), name="ada"),
    Message("assistant", (Thinking("hm" * 900, signature="s" * 3_000), Text("𝔘 long " * 400))),
    Message("assistant", (ToolCall("", "write", "{not json" * 500, extra='{"k":1}'),)),
    Message("tool", (), answers="c1", name="write", is_error=True, uid="u", at="2026-01-01"),
    Message("user", (Media("image/png", data="A" * 5_000), Opaque("other", '{"a":"\\ud800"}'))),
    Message("assistant", (), kind="injected", line=7, usage=Usage(9, 8, 7, 6), extra='{"x":[]}'),
)


def said(text: str, role: Role = "user") -> Logged:
    """Log a plain message."""
    return Logged(Message(role, (Text(text),)))


class ArchiveContract:
    """The promises of an archive, as tests.

    Subclass it in your own suite and define two fixtures: `archive`, a fresh and empty archive, and
    `reopen`, which opens a second handle on the same data, as another process would. Where data
    ends with its handle, `reopen` may return the archive itself.
    """

    def test_reads_back_what_was_appended(self, archive: Archive, reopen: Reopen) -> None:
        """Every part of every kind comes back equal, large and odd texts to the character."""
        assert archive.append(KEY, [Logged(message) for message in ODD]) == len(ODD)

        assert archive.messages(KEY) == list(ODD)
        assert reopen().messages(KEY) == list(ODD)

    def test_a_thread_never_written_to_is_empty(self, archive: Archive) -> None:
        """Asking makes nothing."""
        assert archive.length(KEY) == 0
        assert archive.messages(KEY) == []
        assert archive.handles(KEY) == {}
        assert archive.search(KEY, "anything") == []
        assert archive.append(KEY, [], expected=0) == 0
        assert archive.threads(KEY.owner) == []

    def test_messages_are_read_by_range_with_both_ends_included(self, archive: Archive) -> None:
        """A range past the end returns the existing messages."""
        archive.append(KEY, [said(str(n)) for n in range(5)])

        assert [m.text for m in archive.messages(KEY, 1, 3)] == ["1", "2", "3"]
        assert [m.text for m in archive.messages(KEY, 3)] == ["3", "4"]
        assert [m.text for m in archive.messages(KEY, 4, 99)] == ["4"]
        assert archive.messages(KEY, 5) == []

    def test_messages_are_found_by_their_ids(self, archive: Archive, reopen: Reopen) -> None:
        """All that have one, of this thread alone; an id may be any text of any length."""
        long = "日本\ud800\0" * 2_000
        for key in (KEY, OTHERS[0]):
            names = ["a", long, "", "a"] if key == KEY else ["b", "a"]
            archive.append(key, [Logged(replace(said("x").message, uid=uid)) for uid in names])

        for opened in (archive, reopen()):
            found = opened.positions(KEY, ["a", "b", long, "", "a"])
            assert found == {"a": (0, 3), long: (1,)}
            assert opened.positions(KEY, []) == {}
            assert opened.positions(OTHERS[0], (uid for uid in ("a", "b"))) == {
                "a": (1,),
                "b": (0,),
            }
            assert opened.positions(OTHERS[1], ["a"]) == {}

        archive.delete(KEY)
        assert archive.positions(KEY, ["a"]) == {}

    def test_a_writer_who_saw_an_older_log_is_told_so(self, archive: Archive) -> None:
        """Nothing of the refused append is in the log."""
        archive.append(KEY, [said("one"), said("two")], expected=0)

        with pytest.raises(ConflictError) as caught:
            archive.append(KEY, [said("late"), said("later")], expected=1)

        assert (caught.value.expected, caught.value.found) == (1, 2)
        assert archive.length(KEY) == 2
        assert archive.append(KEY, [said("three")], expected=2) == 3
        assert archive.append(KEY, [said("four")]) == 4

    def test_of_many_writers_who_saw_the_same_log_one_wins(
        self, archive: Archive, reopen: Reopen
    ) -> None:
        """However they race, one append lands and the others learn of it."""
        handles = [archive, *(reopen() for _ in range(3))]

        def write(number: int) -> bool:
            try:
                handles[number % 4].append(
                    KEY, [said(f"{number}a"), said(f"{number}b")], expected=0
                )
            except ConflictError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(write, range(8)))

        assert sum(won) == 1
        winner = won.index(True)
        assert [m.text for m in archive.messages(KEY)] == [f"{winner}a", f"{winner}b"]

    def test_many_threads_of_one_process_may_share_it(self, archive: Archive) -> None:
        """Every append lands once, whole and in one piece."""

        def work(number: int) -> None:
            archive.append(KEY, [said(f"w{number} {part}") for part in range(3)])
            archive.search(KEY, f"w{number}")
            archive.handle(KEY, Span(0, 2))

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(24)))

        texts = [m.text for m in archive.messages(KEY)]
        groups = [texts[i : i + 3] for i in range(0, 72, 3)]
        assert sorted(groups) == sorted([f"w{n} {part}" for part in range(3)] for n in range(24))

    def test_threads_and_owners_are_strangers(self, archive: Archive) -> None:
        """Nothing of one thread is readable, searchable or countable from another."""
        archive.append(KEY, [said("the launch code is 4711-quokka")])
        handle = archive.handle(KEY, Span(0, 0))
        for key in OTHERS:
            archive.append(key, [said("weather report")])

        for key in OTHERS:
            assert archive.length(key) == 1
            assert archive.search(key, "launch code quokka") == []
            assert archive.handles(key) == {}
            with pytest.raises(HandleError):
                archive.read(key, handle)

    def test_threads_are_listed_oldest_first(self, archive: Archive) -> None:
        """Only those of one owner, for any names."""
        names = ["zeta", "alpha", "", "日本\ud800"]
        for name in names:
            archive.append(ThreadKey("ada", name), [said("x")])
        archive.append(ThreadKey("bob", "beta"), [said("x")])

        assert archive.threads("ada") == names
        assert archive.threads("bob") == ["beta"]
        assert archive.threads("eve") == []

    def test_the_journal_reads_back_turn_by_turn(self, archive: Archive, reopen: Reopen) -> None:
        """In order, in another handle, and each thread its own."""
        archive.append(KEY, [said("one")])
        numbers = [
            archive.add_turn(KEY, TurnRow(f'{{"n": "{n} 你好"}}', b"state" * n), length=1)
            for n in range(3)
        ]
        archive.append(KEY, [said("two")])
        assert archive.add_turn(KEY, TurnRow("{}"), length=2) == 3
        for opened in (archive, reopen()):
            assert numbers == [0, 1, 2]
            assert opened.turns(KEY, 1, 2) == ['{"n": "1 你好"}', '{"n": "2 你好"}']
            assert len(opened.turns(KEY)) == opened.turn_count(KEY) == 4
            assert opened.turns(KEY, 4) == []
            assert [opened.turn_state(KEY, n) for n in (0, 2, 9)] == [b"", b"statestate", b""]
            assert opened.turns(OTHERS[1]) == []
            assert opened.turn_count(OTHERS[1]) == 0
            assert opened.turn_state(OTHERS[1], 2) == b""

    def test_a_turn_is_written_with_what_it_was_decided_on_or_not_at_all(
        self, archive: Archive, reopen: Reopen
    ) -> None:
        """Log and journal grow together, or neither does."""
        assert archive.add_turn(KEY, TurnRow("{}"), length=0, log=[said("one"), said("two")]) == 0
        with pytest.raises(ConflictError, match="2 messages, not 1"):
            archive.add_turn(KEY, TurnRow("{}"), length=1, log=[said("three")])
        for opened in (archive, reopen()):
            assert [message.text for message in opened.messages(KEY)] == ["one", "two"]
            assert opened.turn_count(KEY) == 1

    def test_a_turn_decided_on_an_older_log_is_refused(self, archive: Archive) -> None:
        """Someone appended meanwhile: the decision may be wrong."""
        archive.append(KEY, [said("one"), said("two")])
        with pytest.raises(ConflictError, match="2 messages, not 1"):
            archive.add_turn(KEY, TurnRow("{}"), length=1)
        assert archive.turns(KEY) == []

    def test_turns_of_many_writers_are_numbered_apart(self, archive: Archive) -> None:
        """Each gets a number of its own."""
        archive.append(KEY, [said("one")])
        with ThreadPoolExecutor(8) as pool:
            numbers = list(
                pool.map(lambda n: archive.add_turn(KEY, TurnRow(str(n)), length=1), range(24))
            )
        bodies = archive.turns(KEY)
        assert [bodies[number] for number in numbers] == [str(n) for n in range(24)]

    @pytest.mark.parametrize("text", ["", "short", "long \ud83d 你好 " * 500])
    def test_an_attached_text_reads_back(self, archive: Archive, reopen: Reopen, text: str) -> None:
        """To the character, and it is no message."""
        [digest, other] = archive.attach(KEY, text, "other")
        assert archive.attach(KEY, text) == [digest]
        for opened in (archive, reopen()):
            assert opened.attachment(KEY, digest) == text
            assert opened.attachment(KEY, other) == "other"
            assert opened.length(KEY) == 0

    @pytest.mark.parametrize("digest", ["", "no digest", "0" * 64, "%"])
    def test_what_was_not_attached_to_a_thread_is_not_read(
        self, archive: Archive, digest: str
    ) -> None:
        """Neither an unknown digest nor another thread's."""
        [theirs] = archive.attach(OTHERS[1], "a secret")
        archive.append(KEY, [said("one")])
        for asked in (digest, theirs):
            with pytest.raises(HandleError):
                archive.attachment(KEY, asked)

    def test_a_summary_reads_back_by_its_source(self, archive: Archive, reopen: Reopen) -> None:
        """In every process; another source, thread or owner has none, and the first one is kept."""
        texts = {"ab" * 32: "of two \ud83d messages", "cd" * 32: "of three " * 500}
        archive.append(KEY, [said("one")])
        for source, text in texts.items():
            assert archive.add_summary(KEY, source, text)
            assert archive.add_summary(KEY, source, "another")
        for opened in (archive, reopen()):
            assert {source: opened.summary(KEY, source) for source in texts} == texts
            assert opened.summary(KEY, "ef" * 32) == ""
            assert all(opened.summary(key, "ab" * 32) == "" for key in OTHERS)

    def test_a_summary_goes_with_its_thread(self, archive: Archive) -> None:
        """And one that comes too late does not begin the thread again."""
        source = "ab" * 32
        archive.append(KEY, [said("one")])
        archive.add_summary(KEY, source, "of one message")
        archive.delete(KEY)
        assert not archive.add_summary(KEY, source, "of one message")
        assert archive.threads(KEY.owner) == []
        archive.append(KEY, [said("one")])
        assert archive.summary(KEY, source) == ""

    def test_journal_and_attachments_go_with_their_thread_only(self, archive: Archive) -> None:
        """And a thread created again counts from 0."""
        for key in (KEY, OTHERS[1]):
            archive.append(key, [said("one")])
            archive.add_turn(key, TurnRow("{}", b"state"), length=1)
            [digest] = archive.attach(key, "a prompt")
        archive.delete(KEY)
        archive.prune()
        assert archive.turns(KEY) == []
        assert archive.turns(OTHERS[1]) == ["{}"]
        assert archive.attachment(OTHERS[1], digest) == "a prompt"
        with pytest.raises(HandleError):
            archive.attachment(KEY, digest)
        archive.append(KEY, [said("one")])
        assert archive.add_turn(KEY, TurnRow("{}"), length=1) == 0

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

    @pytest.mark.parametrize(
        ("query", "hit"),
        [
            ("Which port does the proxy listen on?", "listening on 0.0.0.0:8443"),
            ("turn end", "handleTurnEnd"),
            ("handleTurnEnd()", "handleTurnEnd"),
            ("duplicate hooks", "test_removes_duplicate_hooks"),
            ("resume go", "cmd/cli/resume.go"),
            ("deletion", "12 deletions"),
            ("münchen", "Munchen"),
            ("MUNCHEN", "München"),
            ("隔离", "上下文隔离测试"),
            ("エンジニア", "新しいエンジニアです"),
            ("пароль", "Пароль сменён"),
            ("ซักผ้า", "วันนี้ซักผ้าแล้ว"),
        ],
    )
    def test_search_finds_words_in_any_language(
        self, archive: Archive, query: str, hit: str
    ) -> None:
        """Whole words, their forms, the parts of identifiers, words of unspaced scripts."""
        archive.append(KEY, [said(f"noise number {n}, nothing else") for n in range(20)])
        archive.append(KEY, [said(f"the proxy: {hit}" if "port" in query else hit)])

        assert hit in archive.search(KEY, query)[0].text

    def test_search_finds_a_result_by_the_call_it_answers(self, archive: Archive) -> None:
        """What the model asked for is often what it remembers."""
        result = Logged(Message("tool", (Text("4711"),), name="wc"), about="wc -l ledger.csv")
        archive.append(KEY, [said("noise"), result, said("more noise")])

        (found, *_) = archive.search(KEY, "How many lines has ledger.csv?")

        assert (found.position, found.text, found.about) == (1, "4711", "wc -l ledger.csv")

    def test_search_shows_what_follows_the_words_it_found(self, archive: Archive) -> None:
        """The passage includes the text after the match, for any length of text before it."""
        filler = [
            f"{n}: nothing of interest happened in this part of the report" for n in range(43)
        ]
        lines = [
            *filler,
            "the audit of invoices has ended",
            *filler[:3],
            "its file is 4711-quokka and it was closed by the clerk",
            *filler,
        ]
        archive.append(KEY, [said("\n".join(lines))])

        found = archive.search(KEY, "audit of invoices")

        assert "4711-quokka" in render_passages(found)

    def test_search_finds_a_result_by_what_was_said_before_the_call(self, archive: Archive) -> None:
        """A table of numbers lacks its subject, and so does the command that printed it."""
        call = ToolCall("c1", "sh", '{"run":"run.sh"}')
        for n in range(60):
            archive.append(KEY, [said(f"the ledger number {n} is kept in drawer {n}")])
        archive.append(
            KEY,
            [
                Logged(Message("assistant", (Text("Now the yearly audit of invoices."), call))),
                Logged(Message("tool", (Text("ledger 4711-quokka"),), answers="c1"), "sh run.sh"),
            ],
        )

        found = archive.search(KEY, "which ledger in the yearly audit of invoices?")

        assert [passage.position for passage in found[:2]] == [60, 61]

    def test_search_finds_an_answer_by_its_shape(self, archive: Archive) -> None:
        """If its only word of the question is a very common one."""
        for n in range(400):
            archive.append(KEY, [said(f"the parser and its tests are discussed, part {n}")])
        archive.append(KEY, [said("ok  parser  12.061s")])
        for n in range(400):
            archive.append(KEY, [said(f"the tests of the parser are discussed, part {n}")])

        found = archive.search(KEY, "How long did the tests of the parser take?")

        assert 400 in {passage.position for passage in found}
        assert archive.search(KEY, "How long did the quokka sleep?") == []

    def test_search_sees_everything_appended_before_it(
        self, archive: Archive, reopen: Reopen
    ) -> None:
        """Through every handle, after every append."""
        for n in range(6):
            archive.append(KEY, [said(f"the secret animal is animal{n}x")])
            for handle in (archive, reopen()):
                found = handle.search(KEY, f"animal{n}x")
                assert found[0].text.endswith(f"animal{n}x")

    def test_search_looks_only_within_the_spans_given(self, archive: Archive) -> None:
        """Overlapping and unsorted spans are one set of messages; none at all is nothing."""
        archive.append(KEY, [said(f"apple number {n}") for n in range(30)])

        def positions(within: list[Span] | None) -> set[int]:
            return {p.position for p in archive.search(KEY, "apple", within=within)}

        assert positions(None) == set(range(30))
        assert positions([Span(20, 22), Span(3, 5), Span(5, 6)]) == {3, 4, 5, 6, 20, 21, 22}
        assert positions([Span(28, 99)]) == {28, 29}
        assert positions([Span(40, 50)]) == set()
        assert positions([]) == set()

    def test_search_over_threads_finds_each_in_its_thread(self, archive: Archive) -> None:
        """Those of the owner, and of these the ones that were named."""
        for owner, thread in (("ada", "t1"), ("ada", "t2"), ("eve", "t3")):
            key = ThreadKey(owner, thread)
            archive.append(key, [said(f"a heron in {thread}"), said("and a crane")])

        found = archive.search_threads("ada", "heron")
        assert {(one.thread, one.passage.position) for one in found} == {("t1", 0), ("t2", 0)}
        assert "heron in t1" in next(one.passage.text for one in found if one.thread == "t1")
        (only,) = archive.search_threads("ada", "heron", threads=["t2", "t3"])
        assert only.thread == "t2"
        assert archive.search_threads("ada", "heron", threads=[]) == []
        archive.append(ThreadKey("ada", "t4"), [said("a heron, later")])
        assert len(archive.search_threads("ada", "heron")) == 3
        assert archive.search_threads("ada", "heron", max_tokens=1) == []

    @pytest.mark.parametrize("max_tokens", [0, 10, 60, 300, 2_000])
    def test_search_stays_inside_its_budget(self, archive: Archive, max_tokens: int) -> None:
        """Counted exactly, over the passages as they are shown."""
        archive.append(KEY, [said(f"apple 苹果 {n} " + "🍏🍎 ünïcödé " * 80) for n in range(40)])

        found = archive.search(KEY, "apple 苹果", max_tokens=max_tokens)

        assert exact_counter()(render_passages(found)) <= max_tokens
        assert bool(found) == (max_tokens >= 300)

    def test_a_passage_stands_where_it_says(self, archive: Archive) -> None:
        """Verbatim, at `start` of the message's text."""
        texts = ["\n\n\tindented apple\n", "x " * 3_000 + "apple" + " y" * 3_000, "apple\ud800pie"]
        archive.append(KEY, [said(text) for text in texts])

        found = archive.search(KEY, "apple")

        assert {p.position for p in found} == {0, 1, 2}
        for passage in found:
            assert texts[passage.position][passage.start :].startswith(passage.text)
            assert "apple" in passage.text
            assert passage.speaker == "user"

    @pytest.mark.parametrize(
        "query",
        ["", " ", '"', "'; DROP TABLE x; --", "NEAR(a b)", "a AND", "col:x", "*", "^a", "-", "\0",
         "\ud800", "(" * 500, "the of and", "apple\0pie", "NOT apple", "x" * 100_000],
    )  # fmt: skip
    def test_nothing_in_a_query_is_syntax(self, archive: Archive, query: str) -> None:
        """Any text may be asked."""
        archive.append(KEY, [said("apple pie and the drop table")])

        assert isinstance(archive.search(KEY, query), list)

    def test_an_old_message_is_found_among_very_many(self, archive: Archive) -> None:
        """Though each of its words is common later on."""
        archive.append(KEY, [said("the deploy of the gateway failed on monday: exit 137")])
        words = ("deploy", "gateway", "monday")
        noise = [said(f"step {n}: {words[n % 3]} looks fine, failed none") for n in range(6_000)]
        archive.append(KEY, noise)

        found = archive.search(KEY, "On which day did the gateway deploy fail, monday?")

        assert 0 in {passage.position for passage in found}

    def test_a_deleted_thread_is_gone_and_its_neighbours_are_not(
        self, archive: Archive, reopen: Reopen
    ) -> None:
        """Log, references and index; a large text shared with another thread is kept there."""
        shared = "a text both threads hold " * 200
        own = "only the deleted one holds this " * 200
        for key, extra in ((KEY, own), (OTHERS[0], "x")):
            archive.append(key, [said(shared), said(extra)])
            archive.search(key, "text")
        handle = archive.handle(KEY, Span(0, 1))

        archive.delete(KEY)
        archive.delete(KEY)

        assert archive.prune() > 0
        assert archive.prune() == 0
        assert archive.length(KEY) == 0
        assert archive.threads(KEY.owner) == [OTHERS[0].thread]
        with pytest.raises(HandleError):
            archive.read(KEY, handle)
        for one in (archive, reopen()):
            assert one.search(KEY, "text holds") == []
            assert one.messages(OTHERS[0])[0].text == shared
            assert one.search(OTHERS[0], "both threads hold")

    def test_a_thread_may_begin_anew_after_it_was_deleted(self, archive: Archive) -> None:
        """With nothing of its former self."""
        archive.append(KEY, [said("old apple"), said("old pear")])
        archive.search(KEY, "apple")
        archive.delete(KEY)
        archive.append(KEY, [said("new apple")], expected=0)

        assert [p.text for p in archive.search(KEY, "apple pear old")] == ["new apple"]

    def test_prune_takes_nothing_that_a_log_holds(self, archive: Archive) -> None:
        """With or without handles."""
        archive.append(KEY, [Logged(message) for message in ODD])

        assert archive.prune() == 0
        assert archive.messages(KEY) == list(ODD)

    def test_closing_twice_is_fine(self, archive: Archive) -> None:
        """As every exit path may do."""
        archive.close()
        archive.close()

    def test_an_archive_is_closed_at_the_end_of_its_block(self, archive: Archive) -> None:
        """For any kind of archive."""
        with archive as opened:
            opened.append(KEY, [said("one")])

        with pytest.raises(ArchiveError):
            archive.length(KEY)
