"""What managers of Strands do to messages is read back as items."""

from benchmarks.arena.contestants.strands_blocks import BlockMap
from recorder_tests.unit.lab.replay.threads import answered, asked, entries_of, said
from thalweg.engine.entries import Message, Text
from thalweg.engine.tokens import exact_counter, measure
from thalweg.engine.window.items import WindowItem

count = exact_counter()


def items(messages: list[Message]) -> list[WindowItem]:
    return [WindowItem(e.message, e.position, e.tokens) for e in entries_of(messages)]


THREAD = [
    said("user", "Fetch two."),
    Message("assistant", (*asked("c1", "fetch").parts, *asked("c2", "fetch").parts)),
    answered("c1", "fetch", "one"),
    answered("c2", "fetch", "two"),
    said("user", "Thanks."),
]


def test_neighbouring_results_share_a_message() -> None:
    blocks = BlockMap(count)
    written = [*blocks.written(items(THREAD))]
    assert [(m["role"], len(m["content"])) for m in written] == [
        ("user", 1),
        ("assistant", 2),
        ("user", 2),
        ("user", 1),
    ]


def test_what_nobody_touched_is_the_very_item() -> None:
    blocks, given = BlockMap(count), items(THREAD)
    written = [*blocks.written(given)]
    assert all(a is b for a, b in zip(blocks.shown(written), given, strict=True))
    assert blocks.whole(written) == {0, 1, 2, 3, 4}


def test_a_placeholder_is_nobodys_words() -> None:
    blocks = BlockMap(count)
    placeholder = WindowItem(answered("c1", "fetch", "nothing came"), -1, 5)
    assert blocks.whole([*blocks.written([placeholder])]) == frozenset()


def test_a_result_that_was_replaced_keeps_its_place_and_its_call() -> None:
    blocks, given = BlockMap(count), items(THREAD)
    written = [*blocks.written(given)]
    blocks.shown(written)
    results = written[2]["content"]
    cut = {**results[1]["toolResult"], "content": [{"text": "tw…"}]}
    results[1] = {"toolResult": cut}
    shown = blocks.shown(written)
    assert shown[2] is given[2]
    assert shown[3].message == answered("c2", "fetch", "tw…")
    assert shown[3].position == 3
    assert shown[3].tokens == measure(shown[3].message, count).tokens
    assert blocks.whole(written) == {0, 1, 2, 4}


def test_a_mark_in_an_assistants_message_does_not_part_calls_from_results() -> None:
    blocks, given = BlockMap(count), items(THREAD)
    written = [*blocks.written(given)]
    written[1]["content"] = [*written[1]["content"], {"text": "[3 messages dropped]"}]
    shown = blocks.shown(written)
    assert [item.position for item in shown] == [0, 1, 2, 3, 4]
    assert shown[1].message.text == "[3 messages dropped]"
    assert len(shown[1].message.calls) == 2
    assert blocks.whole(written) == {0, 1, 2, 3, 4}


def test_a_message_of_the_managers_own_is_nobodys() -> None:
    blocks = BlockMap(count)
    (shown,) = blocks.shown([{"role": "user", "content": [{"text": "a summary"}]}])
    assert shown.position == -1
    assert shown.message == Message("user", (Text("a summary"),), kind="injected")


def test_a_summarizer_has_read_those_whose_every_word_it_was_given() -> None:
    blocks = BlockMap(count)
    written = [*blocks.written(items(THREAD))]
    assert blocks.read_in(written[:3]) == {0, 1, 2, 3}
    retold = {"role": "user", "content": [{"text": "Fetch two."}, *written[3]["content"]]}
    assert blocks.read_in([retold]) == {4}


def test_a_call_told_in_words_counts_as_read() -> None:
    blocks = BlockMap(count)
    written = [*blocks.written(items(THREAD))]
    results = [r["toolResult"]["content"][0] for r in written[2]["content"]]
    told = {"text": "[tool call: fetch] {}"}
    flat = {"role": "user", "content": [*written[0]["content"], told, told, *results]}
    assert blocks.read_in([flat]) == {0, 1, 2, 3}
