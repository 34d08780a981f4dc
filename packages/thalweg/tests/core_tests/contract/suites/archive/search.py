"""The promises of an archive about search."""

from unicodedata import normalize

import pytest

from core_tests.contract.suites.archive.values import KEY, Reopen, said
from thalweg.archive import Archive, Logged, Span, ThreadKey, render_passages
from thalweg.archive.tables import INDEXED_AT_ONCE
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg.engine.tokens import exact_counter

NIGHTLY = (pytest.mark.slow, pytest.mark.nightly)
NOISE = [said(f"reading {n} of the gauge") for n in range(INDEXED_AT_ONCE + 1)]
"""Messages that a search which does not wait leaves without an index."""


class SearchContract:
    """Search, as tests: what is found, where, and within which budget."""

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
            ("résumé", "re\u0301sume\u0301.pdf"),  # as macOS writes names of files
            ("re\u0301sume\u0301", "résumé.pdf"),
            ("보고서", normalize("NFD", "보고서 초안")),
        ],
    )
    def test_search_finds_words_in_any_language(
        self, archive: Archive, query: str, hit: str
    ) -> None:
        """Whole words, their forms, the parts of identifiers, words of unspaced scripts."""
        archive.append(KEY, [said(f"noise number {n}, nothing else") for n in range(20)])
        archive.append(KEY, [said(f"the proxy: {hit}" if "port" in query else hit)])

        assert hit in archive.search(KEY, query)[0].text

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("the heron was seen", "herons"),
            pytest.param("we restored it", "restoring", marks=NIGHTLY),
            pytest.param("Größe 4", "Größe", marks=NIGHTLY),
            ("科幻电影很好", "科幻"),
            pytest.param("лодка стоит", "лодка", marks=NIGHTLY),
            ("re\u0301sume\u0301", "résumé"),
            pytest.param("résumé", "re\u0301sume\u0301", marks=NIGHTLY),
            (normalize("NFD", "보고서"), "보고서"),
            ("x" * 3_000 + " heron 科幻 Größe", "heron"),
            pytest.param("x" * 3_000 + " heron 科幻 Größe", "科幻", marks=NIGHTLY),
            pytest.param("x" * 3_000 + " heron 科幻 Größe", "größe", marks=NIGHTLY),
        ],
    )
    def test_words_are_found_before_they_are_indexed(
        self, archive: Archive, text: str, query: str
    ) -> None:
        """Any script, small and large texts; the search returns the same hit with the index."""
        archive.append(KEY, [*NOISE[:7], said(text), *NOISE])
        assert archive.unindexed(KEY) == Span(0, len(NOISE) + 7)
        (hit, *_) = archive.search(KEY, query, wait=False)
        assert hit.position == 7
        assert archive.unindexed(KEY) is not None
        assert archive.search(KEY, query)[0] == hit
        assert archive.unindexed(KEY) is None

    def test_a_search_that_does_not_wait_finds_calls_and_keeps_to_spans(
        self, archive: Archive
    ) -> None:
        """The search returns a result by its call."""
        call = said("reading", "assistant")
        result = Logged(Message("tool", (Text("def main(): pass"),), name="read"), about="heron.py")
        archive.append(KEY, [call, result, *NOISE, said("a heron")])
        (hit, *_) = archive.search(KEY, "heron main", wait=False)
        assert (hit.position, hit.about) == (1, "heron.py")
        last = len(NOISE) + 2
        inside = archive.search(KEY, "heron", within=[Span(5, last)], wait=False)
        assert [hit.position for hit in inside] == [last]

    def test_a_search_that_does_not_wait_joins_the_index_and_the_rest(
        self, archive: Archive
    ) -> None:
        """The search returns hits of both."""
        archive.append(KEY, [said("a heron"), *NOISE])
        archive.update_index(KEY.owner)
        archive.append(KEY, [*NOISE, said("two herons")])
        found = [hit.position for hit in archive.search(KEY, "heron", wait=False)]
        assert sorted(found) == [0, 2 * len(NOISE) + 1]

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

    def test_threads_with_most_words_are_found_each_once(self, archive: Archive) -> None:
        """Best first, of the owner alone, with the passage; a word that all have counts little."""
        talks = {
            "t1": ["a heron", "the heron nests in the reeds, says the warden"],
            "t2": ["the warden counts", "a heron and its nest"],
            "t3": ["the warden is on leave"],
        }
        for thread, words in talks.items():
            archive.append(ThreadKey("ada", thread), [*map(said, words), said("warden")])
        archive.append(ThreadKey("eve", "t4"), [said("the heron nests here, warden")])

        found = archive.find_threads("ada", "nest of the heron, warden")

        assert [one.thread for one in found] == ["t1", "t2"]
        assert [one.passage.position for one in found] == [1, 1]
        assert "reeds" in found[0].passage.text
        assert [one.thread for one in archive.find_threads("ada", "leave")] == ["t3"]
        assert len(archive.find_threads("ada", "warden")) == 3
        assert archive.find_threads("ada", "bittern") == archive.find_threads("ada", "") == []

    def test_a_thread_is_found_by_the_call_that_a_result_answers(self, archive: Archive) -> None:
        """Also if the result has no text."""
        archive.append(KEY, [said("read it"), Logged(Message("tool", ()), "read_file reeds.md")])

        (found,) = archive.find_threads(KEY.owner, "reeds")

        assert found.passage.position == 1

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
