"""The promises of an archive about its logs and journals."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from core_tests.contract.suites.archive.values import KEY, ODD, OTHERS, Reopen, said
from thalweg.archive import Archive, Logged, Span, ThreadKey, TurnRow
from thalweg.engine.entries import Message, Text
from thalweg.errors import ArchiveError, ConflictError, HandleError


class LogContract:
    """Logs and journals, as tests: appended to, read, attached to, deleted."""

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

    def test_the_errors_of_a_thread_are_read(self, archive: Archive, reopen: Reopen) -> None:
        """Large ones whole; a result that quotes the mark of an error is none."""
        failed = Logged(Message("tool", (Text("failed " * 2_000),), is_error=True), "make test")
        quoted = Logged(Message("tool", (Text('{"is_error":true}'),)))
        archive.append(KEY, [said("one"), failed, quoted, failed])

        for opened in (archive, reopen()):
            assert opened.errors(KEY) == [(1, failed), (3, failed)]
            assert opened.errors(OTHERS[1]) == []

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

    def test_the_newest_state_of_each_thread_is_read(
        self, archive: Archive, reopen: Reopen
    ) -> None:
        """Those of the owner alone; empty for a thread without any, or without one in its last."""
        for name, states in {"a": (b"1", b"2"), "b": (), "c": (b"3", b"")}.items():
            archive.append(ThreadKey("ada", name), [said("x")])
            for state in states:
                archive.add_turn(ThreadKey("ada", name), TurnRow("{}", state), length=1)
        archive.add_turn(ThreadKey("bob", "a"), TurnRow("{}", b"4"), length=0)

        for opened in (archive, reopen()):
            assert opened.newest_states("ada") == {"a": b"2", "b": b"", "c": b""}
            assert opened.newest_states("bob") == {"a": b"4"}
            assert opened.newest_states("eve") == {}

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

    def test_who_saw_a_thread_that_was_deleted_adds_nothing_to_the_next_one(
        self, archive: Archive
    ) -> None:
        """The next thread has another generation, regardless of its length."""
        assert archive.extent(KEY) == (0, 0, 0)
        archive.append(KEY, [said("one")])
        archive.add_turn(KEY, TurnRow("{}"), length=1)
        before, length, turns = archive.extent(KEY)
        assert (before > 0, length, turns) == (True, 1, 1)
        archive.delete(KEY)
        for _ in range(2):
            with pytest.raises(ConflictError):
                archive.append(KEY, [said("late")], expected=1, generation=before)
            with pytest.raises(ConflictError):
                archive.add_turn(KEY, TurnRow("{}"), length=1, generation=before)
            assert archive.turns(KEY) == []
            if not archive.length(KEY):
                archive.append(KEY, [said("new")])
        assert [message.text for message in archive.messages(KEY)] == ["new"]
        assert archive.extent(KEY)[0] not in {0, before}
        assert archive.append(KEY, [said("newer")], generation=archive.extent(KEY)[0]) == 2

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
