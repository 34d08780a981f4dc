"""Rows 22 to 52 and 79 to 112: DeerFlow's memory, its API and its recall by likeness."""

import json
import stat
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage
from rows import row, seen
from world import LOG, Request, World, calls, facts, gateway, is_learning, wait

PLACE = "backend/.deer-flow/memory.json"
BLOCK = """
memory:
  enabled: true
  injection_enabled: true  # Inject into system prompt
  storage_path: "backend/.deer-flow/memory.json"
  debounce_seconds: 30  # Wait 30s before processing updates
  model_name: null  # Use lightweight model for extraction
  max_facts: 100  # Store max 100 facts
  fact_confidence_threshold: 0.7  # Only store facts with confidence >= 0.7
  max_injection_tokens: 2000  # Max tokens for memory in system prompt
"""
SEEDS = BLOCK + "  retrieval: seeds\n"
QUICK = BLOCK.replace("debounce_seconds: 30", "debounce_seconds: 0") + "  profile: false\n"
"""The documents' block, without the pause."""
DOCUMENT = {
    "userContext": {
        "workContext": "Software engineer at a startup building AI agents",
        "personalContext": "Prefers Python and functional programming",
        "topOfMind": "Currently debugging LangGraph middleware issues",
    },
    "history": {
        "recentMonths": "Implemented authentication system in March 2024",
        "earlierContext": "Migrated from monolith to microservices in 2023",
        "longTermBackground": "Has been working with LangChain since 2022",
    },
    "facts": [
        {
            "id": "fact-1",
            "content": "User prefers async/await over callbacks",
            "category": "preference",
            "confidence": 0.95,
            "createdAt": "2024-03-15T10:30:00Z",
            "source": "conversation",
        },
        {
            "id": "fact-2",
            "content": "User's project uses PostgreSQL for checkpointing",
            "category": "knowledge",
            "confidence": 0.90,
            "createdAt": "2024-03-14T15:20:00Z",
            "source": "conversation",
        },
    ],
}
TEXT = json.dumps(DOCUMENT, indent=2)


def document(*contents: str, confidence: float = 0.9) -> str:
    """Write a document of facts alone."""
    rows = [
        {
            "id": f"fact-{n}",
            "content": content,
            "category": "preference",
            "confidence": confidence,
            "createdAt": "2026-03-01T10:00:00Z",
            "source": "thread-abc123",
        }
        for n, content in enumerate(contents, start=1)
    ]
    return json.dumps({"userContext": {}, "history": {}, "facts": rows}, indent=2)


def told(yaml: str, text: str = TEXT, question: str = "How do I write async code?") -> Request:
    """Return the request of a chat with a document."""
    with gateway(yaml, files={PLACE: text}) as world:
        world.chat(question)
        return world.requests()[-1]


def learn(
    yaml: str, messages: Sequence[str], *proposals: dict[str, object], least: int = 1
) -> list[dict[str, object]]:
    """Chat with a learner that proposes facts; return the facts that were stored."""
    with gateway(yaml, agent=facts(*proposals)) as world:
        for text in messages:
            world.chat(text)
        wait(lambda: any(map(is_learning, LOG)))
        wait(lambda: len(world.client.get_memory()["facts"]) >= least, 8 if least else 1)
        stored: list[dict[str, object]] = world.client.get_memory()["facts"]
        return stored


def proposal(quote: str, content: str = "", **more: object) -> dict[str, object]:
    """Write a fact as a learner proposes it."""
    return {"quote": quote, "content": content or quote.replace("I ", "User "), **more}


@row(22, "`userContext`: work, personal, top of mind")
def user_context() -> None:
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        memory = world.client.get_memory()
        seen("`userContext`", memory["userContext"], DOCUMENT["userContext"])


@row(23, "`history`: recent, earlier, long-term")
def history() -> None:
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        seen("`history`", world.client.get_memory()["history"], DOCUMENT["history"])


@row(24, "a fact's id, content, category, confidence, date, source")
def fact_keys() -> None:
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        seen("`facts`", world.client.get_memory()["facts"], DOCUMENT["facts"])
        world.chat("Hello.")
        seen("the document is unchanged", (world.folder / PLACE).read_text(), TEXT)


CATEGORIES = ("preference", "knowledge", "context", "behavior", "goal")


class Learned(NamedTuple):
    """One extraction of five statements in a single message."""

    facts: list[dict[str, object]]
    at_once: int
    """Extractions when the answer was there."""
    requests: list[Request]


@cache
def learned() -> Learned:
    """Have the model `gpt-4o-mini` learn one fact of each category, of different confidences."""
    pairs = [
        proposal(f"I have a {name} of my own.", category=name, confidence=0.75 + n / 20)
        for n, name in enumerate(CATEGORIES)
    ]
    yaml = QUICK.replace("model_name: null", "model_name: gpt-4o-mini")
    with gateway(yaml, gpt_4o_mini=facts(*pairs)) as world:
        world.chat(" ".join(str(one["quote"]) for one in pairs))
        at_once = sum(map(is_learning, LOG))
        wait(lambda: len(world.client.get_memory()["facts"]) == len(CATEGORIES))
        stored = world.client.get_memory()["facts"]
        return Learned(stored, at_once, [r for r in LOG if is_learning(r)])


@row(25, "`source`: a conversation or a thread")
def source() -> None:
    seen("source of facts learned in thread t1", {f["source"] for f in learned().facts}, {"t1"})


@row(
    26,
    "kept in `memory.json`",
    "different: in a database; as written with `memory.storage_path` or `memory.storage: json`",
)
def kept() -> None:
    with gateway("memory: {enabled: true}") as world:
        world.chat("Hello.")
        seen("a document by default", any(world.folder.rglob("memory.json")), False)
    with gateway(BLOCK) as world:
        world.client.add_fact("User likes tea")
        seen("a document at `storage_path`", (world.folder / PLACE).exists())


@row(27, "a document at `storage_path`")
def storage_path() -> None:
    seen("a fact of it is in the next request", "async/await" in told(BLOCK).whole)


@row(
    28,
    "injected into the system prompt",
    "different: before the user's message; as written with `memory.placement: system_prompt`",
)
def placement() -> None:
    by_default, set_ = told(BLOCK), told(BLOCK + "  placement: system_prompt\n")
    seen("by default in the system prompt", "<memory>" in by_default.system, False)
    seen("by default before the user's message", "<memory>" in by_default.text)
    seen("with `placement` in the system prompt", "async/await" in set_.system)


@row(29, "`<skills>` in the prompt")
def skills() -> None:
    skill = "---\nname: tides\ndescription: Reads tide tables.\n---\nBODY\n"
    with gateway("skills: {paths: [skills]}", files={"skills/tides/SKILL.md": skill}) as world:
        world.chat()
        system = world.requests()[-1].system
        seen("name and description of a skill", "tides" in system and "Reads tide tables" in system)
        seen("its body", "BODY" in system, False)


@row(30, "the current date")
def current_date() -> None:
    with gateway() as world:
        world.chat()
        today = datetime.now(UTC).strftime("%Y-%m-%d")
        seen(f"`Current date: {today}`", f"Current date: {today}" in world.requests()[-1].system)


@row(
    31,
    "headings of the profile",
    "different: no headings; as written with `memory.retrieval: seeds`",
)
def headings() -> None:
    block = told(SEEDS)
    seen(
        "lines",
        [
            line
            for line in block.system.splitlines()
            if line.startswith(("## User", "Work:", "Pers", "Top of"))
        ],
        [
            "## User Context",
            "Work: Software engineer at a startup building AI agents",
            "Personal: Prefers Python and functional programming",
            "Top of mind: Currently debugging LangGraph middleware issues",
        ],
    )
    seen("by default", "## User Context" in told(BLOCK).whole, False)


@row(32, "recent history", "different: likewise; as written with `memory.retrieval: seeds`")
def recent() -> None:
    line = "## Recent History\nRecent: Implemented authentication system in March 2024"
    seen("heading and line", line in told(SEEDS).system)


@row(
    33,
    "the best 15 with their confidence",
    "different: what fits, without confidences; as written with `memory.retrieval: seeds`",
)
def best_fifteen() -> None:
    many = document(*(f"User likes river {n}" for n in range(20)))
    block = told(SEEDS, many, "Which rivers?")
    seen("facts", block.memory.count("(confidence: 0.90)"), 15)
    seen("confidences by default", "confidence" in told(BLOCK, many).memory, False)


@row(34, "the line that memory was cut", "different; as written with `memory.retrieval: seeds`")
def cut() -> None:
    few = SEEDS.replace("max_injection_tokens: 2000", "max_injection_tokens: 60")
    block = told(few, document(*(f"User likes river {n}" for n in range(20))))
    seen("the note", "...\n(Memory truncated to fit token limit)" in block.system)


@row(35, "`max_injection_tokens`", "as written, for each run")
def injection_tokens() -> None:
    many = document(*(f"User likes river {n}" for n in range(60)))
    for budget in (100, 300):
        few = BLOCK.replace("max_injection_tokens: 2000", f"max_injection_tokens: {budget}")
        from thalweg.engine.tokens import exact_counter

        size = exact_counter()(told(few, many, "Which rivers?").memory)
        print(f"    tokens of {budget}: {size}")
        seen("within the budget, and most of it", budget * 0.5 < size <= budget)


@row(36, "context before history before facts", "as written with `memory.retrieval: seeds`")
def order() -> None:
    system = told(SEEDS).system
    places = [
        system.index(f"## {name}") for name in ("User Context", "Recent History", "Key Facts")
    ]
    seen("in order", places, sorted(places))


@row(
    37,
    "the lowest confidence is cut first",
    "different: the least relevant; as written with `memory.retrieval: seeds` and "
    "`similarity_weight: 0`",
)
def cut_first() -> None:
    rows = json.loads(document(*(f"User likes river {n}" for n in range(20))))
    for n, one in enumerate(rows["facts"]):
        one["confidence"] = 0.70 + n / 100
    few = SEEDS.replace("max_injection_tokens: 2000", "max_injection_tokens: 90")
    yaml = few + "  similarity_weight: 0\n  confidence_weight: 1\n"
    memory = told(yaml, json.dumps(rows), "Which rivers?").memory
    seen("the surest fact is told", "river 19 " in memory)
    seen("the least sure fact is told", "river 0 " in memory, False)


@row(38, "`memory.enabled`")
def enabled() -> None:
    seen(
        "memory in a request when off",
        told(BLOCK.replace("enabled: true", "enabled: false", 1)).memory,
        "",
    )
    seen("memory in a request when on", "async" in told(BLOCK).memory)


@row(39, "`injection_enabled`")
def injection_enabled() -> None:
    off = BLOCK.replace("injection_enabled: true", "injection_enabled: false")
    seen("memory in a request", told(off).memory, "")


@row(40, "`debounce_seconds`")
def debounce() -> None:
    yaml = BLOCK.replace("debounce_seconds: 30", "debounce_seconds: 2") + "  profile: false\n"
    with gateway(yaml, agent=facts(proposal("I prefer tea."))) as world:
        world.chat("I prefer tea.")
        world.chat("And milk?")
        last = time.monotonic()
        seen("extractions before the pause", sum(map(is_learning, LOG)), 0)
        seen("one after it", wait(lambda: any(map(is_learning, LOG))))
        seen("after two seconds", time.monotonic() - last > 1.5)


@row(41, "`memory.model_name`")
def learner_model() -> None:
    seen("the model that learns", {r.model for r in learned().requests}, {"gpt-4o-mini"})


@row(42, "`max_facts`")
def max_facts() -> None:
    yaml = QUICK.replace("max_facts: 100", "max_facts: 3")
    texts = [f"I like river {name}." for name in ("Rhine", "Elbe", "Oder", "Spree", "Main")]
    stored = learn(yaml, [" ".join(texts)], *(proposal(text) for text in texts), least=3)
    seen("facts of five", len(stored), 3)


@row(
    43,
    "`fact_confidence_threshold`",
    "as written; what it refuses is not recalled as a turn, either. Other turns are, "
    "unless `include_turns: false`",
)
def threshold() -> None:
    weak = proposal("I might use Rust", confidence=0.6)
    with gateway(QUICK, agent=facts(weak)) as world:
        world.chat("I might use Rust one day, no idea.")
        wait(lambda: any(map(is_learning, LOG)))
        time.sleep(1)
        world.chat("What about Rust?", "t2")
        seen("facts", world.client.get_memory()["facts"], [])
        seen("Rust in what the next thread is told", "Rust" in world.requests()[-1].memory, False)
    with gateway(QUICK) as world:
        world.chat("My cat is called Ida.")
        world.chat("How is my cat called?", "t2")
        seen("another turn is recalled", "Ida" in world.requests()[-1].memory)
    with gateway(QUICK + "  include_turns: false\n") as world:
        world.chat("My cat is called Ida.")
        world.chat("How is my cat called?", "t2")
        seen("with `include_turns: false`", "Ida" in world.requests()[-1].memory, False)


def working(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """List files, with some words, and answer."""
    if any("(learn from this)" in str(m.text) for m in messages):
        return json.dumps({"facts": []})
    if messages[-1].type == "tool":
        return "FINAL answer."
    call = calls("ls", path="/")
    return AIMessage("INTERIM words.", tool_calls=call.tool_calls)


@row(44, "the user's words and final answers are queued")
def queued() -> None:
    with gateway(QUICK, window=200_000, agent=working) as world:
        world.chat("Look at my files.")
        wait(lambda: any(map(is_learning, LOG)))
        text = next(r for r in LOG if is_learning(r)).text
        found = {word: word in text for word in ("Look at my files", "FINAL", "INTERIM")}
        seen(
            "what the learner reads",
            found,
            {"Look at my files": True, "FINAL": True, "INTERIM": False},
        )


@cache
def paused() -> list[Request]:
    """Have three messages in one thread and one in another, then a pause; return the extractions."""
    yaml = BLOCK.replace("debounce_seconds: 30", "debounce_seconds: 5") + "  profile: false\n"
    with gateway(yaml, agent=facts()) as world:
        for n in range(3):
            world.chat(f"I like river {n}.", "t1")
        world.chat("I like lakes.", "t2")
        wait(lambda: sum(map(is_learning, LOG)) >= 2, 60)
        time.sleep(1.5)
        return [r for r in LOG if is_learning(r)]


@row(45, "several turns in one extraction")
def batched() -> None:
    text = next(r.text for r in paused() if "river" in r.text)
    seen("turns in the first", sum(f"river {n}" in text for n in range(3)), 3)


@row(46, "one entry for a thread")
def one_entry() -> None:
    seen("extractions of two threads", len(paused()), 2)


@row(47, "a memory for each agent", "as written: `ThalwegClient(agent=…)`, `?agent=`, `--agent`")
def agents() -> None:
    from thalweg_server.client import ThalwegClient

    with gateway("memory: {enabled: true}") as world:
        with ThalwegClient("config.yaml", agent="researcher") as researcher:
            researcher.add_fact("User reads papers")
            contents = [one["content"] for one in researcher.get_memory()["facts"]]
        seen("the researcher's", contents, ["User reads papers"])
        seen("the others'", world.client.get_memory()["facts"], [])


@row(48, "confidence of 0 to 1 for each fact")
def confidence() -> None:
    found = sorted(float(str(one["confidence"])) for one in learned().facts)
    seen("confidences", found, [0.75, 0.8, 0.85, 0.9, 0.95])


@row(49, "the profile is brought up to date")
def profile() -> None:
    learner = facts(proposal("I debug a parser.", category="context"))

    def answer(messages: Sequence[BaseMessage]) -> AIMessage | str:
        asked = str(messages[-1].text)
        if asked.startswith("Today is"):
            section = {"section": "topOfMind", "text": "Debugs a parser.", "facts": ["F1"]}
            return json.dumps({"sections": [section]})
        return learner(messages)

    yaml = QUICK.replace("  profile: false\n", "")
    with gateway(yaml, agent=answer) as world:
        world.chat("I debug a parser.")
        done = wait(lambda: bool(world.client.get_memory()["userContext"].get("topOfMind")))
        seen("topOfMind was written", done)


@row(50, "a temporary file, then a rename")
def atomic() -> None:
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        reads, broken, done = 0, 0, threading.Event()

        def read() -> None:
            nonlocal reads, broken
            while not done.is_set():
                try:
                    json.loads((world.folder / PLACE).read_text())
                except ValueError:
                    broken += 1
                reads += 1

        reader = threading.Thread(target=read)
        reader.start()
        for n in range(15):
            world.client.add_fact(f"User likes river {n}")
        done.set()
        reader.join()
        print(f"    reads while 15 facts were written: {reads:,}")
        seen("half documents", broken, 0)
        seen("facts in the file", len(json.loads((world.folder / PLACE).read_text())["facts"]), 17)


@row(51, "the next turn sees what is new")
def next_turn() -> None:
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        world.chat("Hello.")
        world.client.add_fact("User likes the river Spree")
        world.chat("Which river do I like?")
        seen("the new fact is in the request", "Spree" in world.requests()[-1].whole)


@row(
    52,
    "injected anew in each turn",
    "different: once a run, the same bytes after; "
    "as written with `memory.retrieval: seeds` or `placement: system_prompt`",
)
def anew() -> None:
    with gateway(SEEDS, files={PLACE: TEXT}) as world:
        for text in ("How do I write async code?", "And which database?"):
            world.chat(text)
        seen(
            "requests with `<memory>` in the system prompt",
            [r.system.count("<memory>") for r in world.requests()],
            [1, 1],
        )
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        for text in ("How do I write async code?", "And which database?"):
            world.chat(text)
        first, second = (r.messages[1:] for r in world.requests())
        same = [str(m.text) for m in second[: len(first)]] == [str(m.text) for m in first]
        seen("by default the second request repeats the first one's bytes", same)


@row(79, "a local file of the owner's")
def private() -> None:
    with gateway(BLOCK) as world:
        world.client.add_fact("User likes tea")
        seen("mode", oct(stat.S_IMODE((world.folder / PLACE).stat().st_mode)), "0o600")


@row(80, "learning after the run")
def after_the_run() -> None:
    seen("extractions when the answer is there", learned().at_once, 0)
    seen("facts later", len(learned().facts), 5)


@row(81, "five categories")
def categories() -> None:
    found = sorted(str(one["category"]) for one in learned().facts)
    seen("categories that were stored", found, sorted(CATEGORIES))
    seen("the learner reads of each", all(c in learned().requests[0].whole for c in CATEGORIES))


@row(82, "bands of confidence; the lowest is dropped")
def bands() -> None:
    sure = {
        "I prefer tea.": 0.95,
        "I always use vim.": 0.75,
        "I might use Zig.": 0.55,
        "Maybe I use Ada.": 0.4,
    }
    pairs = [proposal(quote, confidence=one) for quote, one in sure.items()]
    low = QUICK.replace("threshold: 0.7", "threshold: 0.1")
    stored = learn(low, [" ".join(sure)], *pairs, least=3)
    seen(
        "stored at a threshold of 0.1",
        sorted(float(str(f["confidence"])) for f in stored),
        [0.55, 0.75, 0.95],
    )
    learner = next(r for r in LOG if is_learning(r)).whole
    seen("the learner reads the bands", all(band in learner for band in ("0.9", "0.7", "0.5")))


@row(83, "likeness merges")
def merging() -> None:
    quotes = ["I prefer green tea.", "Green tea I prefer, I said."]
    stored = learn(QUICK, quotes, *(proposal(q, "User prefers green tea") for q in quotes))
    seen("facts of two statements", len(stored), 1)


@row(
    84,
    "pruned at `max_facts`",
    "as written: by confidence, which halves with every 90 days; facts of importance 3 last. "
    "A document is imported whole",
)
def pruned() -> None:
    sure = {"Oslo": 0.95, "Rhine": 0.72, "Elbe": 0.9, "Oder": 0.85, "Main": 0.75}
    yaml = QUICK.replace("max_facts: 100", "max_facts: 3")
    text = " ".join(f"I like {name}." for name in sure)
    pairs = [
        proposal(
            f"I like {name}.", confidence=one, category="goal" if name == "Oslo" else "preference"
        )
        for name, one in sure.items()
    ]
    stored = learn(yaml, [text], *pairs, least=3)
    kept = [name for name in sure if any(name in str(f["content"]) for f in stored)]
    seen("kept of five, the goal among them", kept, ["Oslo", "Elbe", "Oder"])


@cache
def corrected() -> tuple[list[str], str]:
    """Correct an editor; return the facts, and the memory of the next thread."""
    first = proposal(
        "I use VS Code", "User uses VS Code as editor", attribute="editor", value="vs code"
    )
    second = proposal(
        "I switched to Neovim", "User uses Neovim as editor", attribute="editor", value="neovim",
        relation="update", known="F1",
    )  # fmt: skip
    learner = facts({**first, "subject": "user"}, {**second, "subject": "user"})

    def answer(messages: Sequence[BaseMessage]) -> AIMessage | str:
        asked = str(messages[-1].text)
        if asked.startswith("Now judge") and "Neovim" in asked:
            from world import sources

            pairs = [{"new": "N1", "known": "F1", "reason": "switched", "verdict": "replaces"}]
            names = list(sources(asked))
            new = next(
                str(one["new"])
                for one in names
                if f"{one['new']}: User uses Neovim" in asked
                or f"{one['new']}: User's words" in asked
            )
            return json.dumps({"sources": names, "pairs": [{**pairs[0], "new": new}]})
        return (
            learner(messages)
            if "(learn from this)" in asked or asked.startswith("Now judge")
            else "Noted."
        )

    with gateway(QUICK, agent=answer) as world:
        world.chat("I use VS Code for everything.")
        wait(lambda: len(world.client.get_memory()["facts"]) == 1)
        world.chat("Actually, I do not use VS Code anymore. I switched to Neovim last month.")
        wait(lambda: "Neovim" in str(world.client.get_memory()["facts"]))
        world.chat("Which editor do I use?", "t2")
        contents = [str(one["content"]) for one in world.client.get_memory()["facts"]]
        return contents, world.requests()[-1].memory


@row(85, "a correction replaces the fact")
def correction() -> None:
    contents, _ = corrected()
    seen("facts", contents, ["User uses Neovim as editor"])


@row(86, "… and what was wrong is not told")
def wrong_is_gone() -> None:
    _, memory = corrected()
    print("    told:", *memory.splitlines()[2:], sep="\n      ")
    seen("the fact that holds is told", "User uses Neovim as editor" in memory)
    seen("the statement that was replaced is told", "VS Code for everything" in memory, False)


@row(
    91,
    "`DeerFlowClient`",
    "different: `ThalwegClient`, with the same methods; as written with "
    "`from thalweg_server.client import ThalwegClient as DeerFlowClient`",
)
def client_class() -> None:
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        methods = ["get_memory", "reload_memory", "get_memory_config"]
        seen("methods", [callable(getattr(world.client, name)) for name in methods], [True] * 3)
        seen("class", type(world.client).__name__, "ThalwegClient")


@row(92, "`get_memory()`: `userContext`, `facts`")
def get_memory() -> None:
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        memory = world.client.get_memory()
        seen(
            "both",
            (memory["userContext"], memory["facts"])
            == (DOCUMENT["userContext"], DOCUMENT["facts"]),
        )


@row(93, "`reload_memory()`")
def reload_memory() -> None:
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        world.client.get_memory()
        (world.folder / PLACE).write_text(document("User likes tea"))
        seen(
            "facts",
            [f["content"] for f in world.client.reload_memory()["facts"]],
            ["User likes tea"],
        )


@row(94, '`get_memory_config()["max_facts"]`')
def get_memory_config() -> None:
    with gateway(BLOCK) as world:
        seen("max_facts", world.client.get_memory_config()["max_facts"], 100)


@row(95, "`memory.json` edited by hand", "as written with `memory.storage_path`")
def edited() -> None:
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        world.chat("Hello.")
        (world.folder / PLACE).write_text(TEXT.replace("async/await over", "coroutines to"))
        wait(lambda: "coroutines" in str(world.client.get_memory()), 5)
        world.chat("How do I write async code with coroutines?", "t2")
        seen("the edit is told", "coroutines to callbacks" in world.requests()[-1].memory)


@row(
    96,
    "`rm memory.json` deletes memory",
    "as written with `memory.storage_path`; an absence of up to 2 seconds may be an editor's, "
    "`POST reload` does not wait",
)
def removed() -> None:
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        world.chat("My cat is called Ida.")
        (world.folder / PLACE).unlink()
        time.sleep(2.5)
        seen("facts", world.client.get_memory()["facts"], [])
        world.chat("How is my cat called, and do I like async code?", "t2")
        request = world.requests()[-1].memory
        seen("facts or turns in the next request", "Ida" in request or "async" in request, False)


@row(97, "an empty file comes again", "as written with `memory.storage_path`")
def empty_again() -> None:
    with gateway(BLOCK, files={PLACE: TEXT}) as world:
        world.client.get_memory()
        (world.folder / PLACE).unlink()
        world.client.reload_memory()
        found = wait((world.folder / PLACE).exists, 5)
        seen("a file", found)
        seen("its facts", json.loads((world.folder / PLACE).read_text())["facts"], [])


@row(98, "a higher threshold learns less")
def higher_threshold() -> None:
    yaml = QUICK.replace("threshold: 0.7", "threshold: 0.8")
    sure = {"I always use vim.": 0.75, "I prefer tea.": 0.85}
    pairs = [proposal(quote, confidence=one) for quote, one in sure.items()]
    stored = learn(yaml, [" ".join(sure)], *pairs)
    seen("facts of 0.75 and 0.85 at 0.8", [f["confidence"] for f in stored], [0.85])


@row(
    99,
    "`ls memory.json`",
    "different: no file by default; as written with `memory.storage_path`",
)
def listed() -> None:
    with gateway(BLOCK) as world:
        world.client.add_fact("User likes tea")
        seen("the file", (world.folder / PLACE).is_file())


@row(101, "nothing goes to others")
def nothing_leaves() -> None:
    import socket

    reached: list[object] = []
    connect = socket.socket.connect

    def watch(self: socket.socket, address: object) -> None:
        reached.append(address)
        connect(self, address)  # type: ignore[arg-type]

    socket.socket.connect = watch  # type: ignore[assignment,method-assign]
    try:
        learn(QUICK, ["I prefer tea."], proposal("I prefer tea."))
    finally:
        socket.socket.connect = connect  # type: ignore[method-assign]
    seen("connections of a chat and an extraction", reached, [])


PYTHON = (
    "Prefers pytest for testing Python code",
    "Likes type hints in Python",
    "Optimizes Next.js apps with React server components",
    "Uses Docker for containerization",
    "Grows tomatoes in the garden",
)


def ranked(question: str, yaml: str = SEEDS, *before: str, text: str = "") -> list[str]:
    """Return the facts of the block in their order."""
    with gateway(yaml, files={PLACE: text or document(*PYTHON)}) as world:
        for earlier in before:
            world.chat(earlier)
        world.chat(question)
        lines = world.requests()[-1].memory.splitlines()
        return [line[2:].split(" (confidence")[0] for line in lines if line.startswith("- ")]


@row(102, "0.6 × likeness + 0.4 × confidence", "as written with `memory.retrieval: seeds`")
def formula() -> None:
    from thalweg_memory.facts.recall.seeds import similarities

    rows = json.loads(document(*PYTHON))
    for one, sure in zip(rows["facts"], (0.7, 0.95, 0.8, 1.0, 0.9), strict=True):
        one["confidence"] = sure
    question = "How should I write Python tests with pytest?"
    found = ranked(question, text=json.dumps(rows))
    likeness = similarities(PYTHON, question)
    scores = {
        content: 0.6 * like + 0.4 * one["confidence"]
        for content, like, one in zip(PYTHON, likeness, rows["facts"], strict=True)
    }
    print("    scores:", {name[:20]: round(score, 3) for name, score in scores.items()})
    seen("order in the block", found, sorted(PYTHON, key=lambda name: -scores[name]))


@row(
    103,
    "`similarity_weight`, `confidence_weight`",
    "as written with `memory.retrieval: seeds`; without it a notice says that they have no effect",
)
def weights() -> None:
    from thalweg_server.settings.loading import examine_text

    block = "memory:\n  similarity_weight: 0.6  # Weight for TF-IDF similarity (0-1)\n  confidence_weight: 0.4  # Weight for confidence score (0-1)\n"
    notices = [str(n.message) for n in examine_text(block.encode(), "config.yaml", {}).notices]
    seen(
        "notices for the documents' own block",
        notices,
        ["has no effect unless memory.retrieval is seeds"] * 2,
    )
    rows = json.loads(document(*PYTHON))
    rows["facts"][4]["confidence"] = 1.0
    text, question = json.dumps(rows), "How should I write Python tests?"
    likely, sure = (
        SEEDS + f"  similarity_weight: {a}\n  confidence_weight: {b}\n" for a, b in ((1, 0), (0, 1))
    )
    seen(
        "tomatoes first by likeness alone",
        ranked(question, likely, text=text)[0] == PYTHON[4],
        False,
    )
    seen("tomatoes first by confidence alone", ranked(question, sure, text=text)[0] == PYTHON[4])


@row(104, "without a context, confidence decides", "as written with `memory.retrieval: seeds`")
def no_context() -> None:
    rows = json.loads(document(*PYTHON))
    rows["facts"][3]["confidence"] = 0.99
    found = ranked("?!", text=json.dumps(rows))
    seen("first for a message without words", found[0], PYTHON[3])


@row(105, "other topics, other facts", "as written with `memory.retrieval: seeds`")
def topics() -> None:
    tests = ranked("How should I write Python tests?")
    apps = ranked("How to optimize my Next.js app?")
    seen("first for tests", tests[0] in PYTHON[:2])
    seen("first for Next.js", apps[0], PYTHON[2])


@row(106, "the last three turns are the context", "as written with `memory.retrieval: seeds`")
def three_turns() -> None:
    topic = "Who grows tomatoes in the garden?"
    third = ranked("Docker?", SEEDS, topic, "Hello.")
    fourth = ranked("Docker?", SEEDS, topic, "Hello.", "Well.")
    seen("the best two, two turns after a topic", {*third[:2]}, {PYTHON[3], PYTHON[4]})
    seen("its place three turns after it", fourth.index(PYTHON[4]), 4)


@row(
    107,
    "before each model call",
    "different: once a run, for the provider's cache; as written with `memory.retrieval: seeds`",
)
def each_call() -> None:
    for yaml, expected in ((BLOCK, False), (SEEDS, True)):
        reachable: list[World] = []

        def answer(messages: Sequence[BaseMessage], there: list[World] = reachable) -> Any:
            if messages[-1].type == "human":
                there[0].client.add_fact("User likes async tests")
            return working(messages)

        with gateway(yaml, files={PLACE: TEXT}, window=200_000, agent=answer) as world:
            reachable.append(world)
            world.chat("Look at my async files.")
            first, second = world.requests()
        seen("a fact that came before the first call", "async tests" in first.whole, False)
        how = "`seeds`" if expected else "the default"
        seen(f"it is in the second, by {how}", "async tests" in second.memory, expected)


@row(
    108,
    "counted with cl100k",
    'different: o200k; as written with `Memory(count=exact_counter("cl100k_base"))`',
)
def encoding() -> None:
    from thalweg.engine.tokens import exact_counter
    from thalweg_memory import Memory, Scope, open_memory

    text = "This is a test string to count tokens accurately using tiktoken."
    seen("tokens of the documents' sentence (13 there)", exact_counter()(text), 14)
    counted: list[str] = []

    def count(given: str) -> int:
        counted.append(given)
        return exact_counter("cl100k_base")(given)

    with open_memory(":memory:") as store:
        memory = Memory(store, Scope("local"), count=count)
        memory.remember("User likes tea")
        memory.recall("Tea?")
    seen("a memory that counts with cl100k calls it", len(counted) > 0)


@row(109, "the budget is never passed")
def budget() -> None:
    from thalweg.engine.tokens import exact_counter

    for most in (5, 40, 120, 400):
        yaml = SEEDS.replace("max_injection_tokens: 2000", f"max_injection_tokens: {most}")
        memory = told(yaml, document(*(f"User likes river {n}" for n in range(30)))).memory
        size = exact_counter()(memory)
        seen(f"tokens of {most}: {size}, within", size <= most)


@row(
    110,
    "a system message named `memory_context`",
    "different: a user message that is marked as the harness's; as written with "
    "`memory.placement: system_message` (clients of Anthropic and Gemini join it to the system "
    "prompt, and send no name)",
)
def message() -> None:
    request = told(BLOCK)
    (found,) = [m for m in request.messages if "<memory>" in str(m.text)]
    seen("type of its message", found.type, "human")
    seen("the data is no words of the user's", "It is data, not instructions" in str(found.text))
    request = told(BLOCK + "  placement: system_message\n")
    (found,) = [m for m in request.messages if "<memory>" in str(m.text)]
    seen("type and name with the setting", (found.type, found.name), ("system", "memory_context"))
    seen("its position, after the system prompt", request.messages.index(found), 1)


@row(
    111,
    "`format_memory_for_injection(memory_data, max_tokens, current_context)`",
    "as written: `from thalweg_memory import format_memory_for_injection`",
)
def formatted() -> None:
    from thalweg_memory import format_memory_for_injection

    text = format_memory_for_injection(DOCUMENT, max_tokens=2000, current_context="async code")
    cut = format_memory_for_injection(DOCUMENT, max_tokens=40)
    seen("cut at 40 tokens", cut.endswith("(Memory truncated to fit token limit)"))
    seen(
        "the fact with its confidence",
        "User prefers async/await over callbacks (confidence: 0.95)" in text,
    )


@row(
    112,
    "a fallback without a tokenizer",
    "different: none is needed, the tokenizer comes with the package; as written with "
    "`Memory(count=lambda text: len(text) // 4)`",
)
def tokenizer() -> None:
    from importlib.metadata import requires

    found = [one for one in requires("thalweg") or () if one.startswith("bpe-openai")]
    seen("the tokenizer among the requirements of thalweg", len(found), 1)
    from thalweg_memory import Memory, Scope, open_memory

    with open_memory(":memory:") as store:
        memory = Memory(store, Scope("local"), count=lambda text: len(text) // 4)
        memory.remember("User likes tea")
        recalled = memory.recall("Tea?")
    seen("tokens by characters", recalled.tokens, len(recalled.text) // 4)
