"""Rows 1 to 21: DeerFlow's `summarization:`, each block word for word in a `config.yaml`."""

# mypy: ignore-errors
# (the check of types is of packages and tests; agents are called as in a script)

from collections.abc import Sequence
from functools import cache

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from rows import row, seen
from world import LOG, Recorded, Request, gateway, logged, model, section

from thalweg import ContextMiddleware
from thalweg.engine.tokens import exact_counter
from thalweg_agent.middleware import SummarizationMiddleware

NO_MEMORY = "memory: {enabled: false}"
SUMMARY = "User asked about rivers, agent explained their length."
BLOCK = """
summarization:
  enabled: true
  model_name: null  # null = use lightweight model (default)

  # Trigger: One or more thresholds that activate summarization
  trigger:
    - type: fraction  # 80% of model's max input tokens
      value: 0.8
    - type: messages  # OR 50 messages
      value: 50

  # Keep: How much context to preserve after summarization
  keep:
    type: messages
    value: 20  # Keep last 20 messages

  # Trim: Max tokens when preparing messages for summarization
  trim_tokens_to_summarize: 4000

  # Custom summary prompt (optional)
  summary_prompt: null
"""


def is_summary(request: Request) -> bool:
    """Return whether a request is for a summary."""
    last = str(request.messages[-1].text)
    return request.model != "agent" or not last.startswith("Question")


def answer(messages: Sequence[BaseMessage]) -> str:
    """Answer a question with 60 words, and a request for a summary with one."""
    last = str(messages[-1].text)
    number = last.split()[1] if last.startswith("Question") else ""
    return f"Answer {number} " + "so " * 60 if number else f"## State of work\n- {SUMMARY}"


def talk(yaml: str, turns: int, *, words: int = 60, window: int = 32_000) -> list[Request]:
    """Chat with a configuration; return every request."""
    with gateway(yaml, window=window, more=NO_MEMORY, agent=answer, gpt_4o_mini=answer) as world:
        for n in range(turns):
            world.chat(f"Question {n} " + "why " * words)
        return list(LOG)


def asked(requests: Sequence[Request]) -> list[Request]:
    """List the requests that are not for summaries."""
    return [r for r in requests if not is_summary(r)]


def sizes(requests: Sequence[Request]) -> list[int]:
    """Count the messages of each request, without the system prompt."""
    return [sum(m.type != "system" for m in r.messages) for r in asked(requests)]


def folds(requests: Sequence[Request]) -> list[int]:
    """List the requests that are smaller than those before them, by their number from 1."""
    counted = sizes(requests)
    return [n + 1 for n in range(1, len(counted)) if counted[n] < counted[n - 1]]


@cache
def documented() -> list[Request]:
    """Run 40 turns with the documents' whole block."""
    return talk(BLOCK, 40)


@row(1, "`summarization.enabled`")
def enabled() -> None:
    off = talk(BLOCK.replace("enabled: true", "enabled: false"), 30)
    seen("messages of request 30 with `enabled: false`", sizes(off)[-1], 59)
    seen("requests for summaries", len(off) - len(asked(off)), 0)
    seen("first compaction with `enabled: true`, at request", folds(documented())[0], 26)


@row(
    2,
    "`model_name: null` is a lightweight model",
    "different: the agent's own model, whose cache has the conversation; "
    "as written with `model_name: NAME` of a cheap one",
)
def own_model() -> None:
    requests = documented()
    seen("requests for summaries", sum(map(is_summary, requests)) > 0)
    seen("models that were asked", sorted({r.model for r in requests}), ["agent"])
    named = talk(BLOCK.replace("model_name: null", "model_name: gpt-4o-mini"), 30)
    seen(
        "models that were asked, with a name",
        sorted({r.model for r in named}),
        ["agent", "gpt-4o-mini"],
    )


@row(3, "`model_name` names one of `models:`, in every window")
def named_model() -> None:
    for window in (8_000, 32_000, 200_000):
        yaml = section(
            "summarization",
            'model_name: "gpt-4o-mini"  # Use specific model for summarization\n'
            "trigger: {type: messages, value: 20}\nkeep: {type: messages, value: 6}",
        )
        requests = talk(yaml, 14, words=120, window=window)
        summaries = [r.model for r in requests if is_summary(r)]
        seen(f"models asked for summaries at {window:,}", sorted(set(summaries)), ["gpt-4o-mini"])


@row(4, "`trigger` as a list, any of them")
def any_trigger() -> None:
    seen("compacted at 50 messages, far below 80 %, at request", folds(documented())[0], 26)
    long = talk(BLOCK, 12, words=900, window=8_000)
    seen("compacted at 80 % of 8,000, below 50 messages", 0 < folds(long)[0] < 12)


@row(5, "`trigger` as one mapping")
def one_trigger() -> None:
    yaml = section("summarization", "trigger:\n  type: messages\n  value: 50  # Number of messages")
    seen("compacted at request", folds(talk(yaml, 26)), [26])


@row(6, "`type: fraction`")
def fraction() -> None:
    yaml = section(
        "summarization",
        "trigger:\n  type: fraction\n  value: 0.8\nkeep: {type: messages, value: 4}",
    )
    requests = asked(talk(yaml, 20, words=400, window=8_000))
    at = folds(requests)[0]
    count = exact_counter()
    before = requests[at - 2].tokens + count(requests[at - 2].system)
    print(f"    tokens of the last request before it, without tools: {before:,}")
    seen("below 0.8 x 8,000, and one turn before it", 4_500 < before < 6_400)


@row(7, "`type: tokens`")
def tokens() -> None:
    yaml = section(
        "summarization", "trigger:\n  type: tokens\n  value: 4000  # Absolute token count"
    )
    yaml += "  keep: {type: messages, value: 6}\n"
    requests = asked(talk(yaml, 20, words=400))
    before = requests[folds(requests)[0] - 2].tokens
    print(f"    tokens of the history in the request before: {before:,}")
    seen("within one turn below 4,000", 4_000 - 600 < before <= 4_000)


@row(
    8,
    "`type: messages`",
    "as written, unless the request would grow: it waits until the record is smaller than what it "
    "replaces",
)
def messages() -> None:
    counted = sizes(documented())
    seen("messages of request 25, and of the next", counted[24:26], [49, 21])
    short = short_turns()
    seen("with turns of 12 tokens: the largest request, and the next", short, (49, 21))


def short_turns() -> tuple[int, int]:
    """Return the messages of the first compacted request of a chat of short turns, and before."""
    LOG.clear()
    policy = {"trigger": ("messages", 50), "keep": ("messages", 20), "summarize": False}
    agent = create_agent(
        model("agent", lambda _: "Yes, it was open."), middleware=[ContextMiddleware(policy)]
    )
    history: list[BaseMessage] = []
    for n in range(31):
        state = {"messages": [*history, HumanMessage(f"Was mill {n} open?")]}
        history = agent.invoke(state, {"configurable": {"thread_id": "t"}})["messages"]
    counted = [sum(m.type != "system" for m in r.messages) for r in LOG]
    at = next(n for n in range(1, len(counted)) if counted[n] < counted[n - 1])
    return counted[at - 1], counted[at]


@row(9, "`keep: messages`")
def keep_messages() -> None:
    request = asked(documented())[25]
    kept = [
        str(m.text).split(" w")[0].split(" so")[0] for m in request.messages if m.type != "system"
    ]
    seen("messages after the record", len(kept) - 1, 20)
    seen("the oldest and the newest of them", (kept[1], kept[-1]), ("Answer 15", "Question 25"))
    seen("word for word", str(request.messages[-1].text) == "Question 25 " + "why " * 60)


def left(keep: str, window: int) -> tuple[int, int]:
    """Return the tokens of the kept messages, and those of the record."""
    yaml = section("summarization", f"trigger: {{type: messages, value: 30}}\nkeep:\n  {keep}")
    requests = asked(talk(yaml, 16, words=300, window=window))
    request = requests[folds(requests)[0] - 1]
    count = exact_counter()
    texts = [str(m.text) for m in request.messages if m.type != "system"]
    return sum(map(count, texts[1:])), count(texts[0])


@row(
    10,
    "`keep: tokens`",
    "as written; the record of what was compacted comes before it",
)
def keep_tokens() -> None:
    kept, record = left("type: tokens\n  value: 3000  # Preserve last ~3000 tokens", 32_000)
    print(f"    tokens kept: {kept:,}, and a record of {record:,}")
    seen("at most 3,000, and less than a turn below", 2_500 < kept <= 3_000)


@row(11, "`keep: fraction`", "as written; the record of what was compacted comes before it")
def keep_fraction() -> None:
    kept, record = left(
        "type: fraction\n  value: 0.3  # Preserve last 30% of max_input_tokens", 8_000
    )
    print(f"    tokens kept: {kept:,} of 0.3 x 8,000, and a record of {record:,}")
    seen("at most 2,400, and less than a turn below", 1_900 < kept <= 2_400)


@row(12, "default `keep` of 20 messages")
def keep_default() -> None:
    yaml = section("summarization", "trigger: {type: messages, value: 50}")
    seen("messages of the compacted request", sizes(talk(yaml, 26))[-1], 21)


@row(
    13,
    "`trim_tokens_to_summarize`",
    "different: nothing is cut off; the rest is read in further requests of that size, at most 16; "
    "as written with `summary_requests: 1`",
)
def trimmed() -> None:
    yaml = BLOCK.replace("model_name: null", "model_name: gpt-4o-mini").replace("0.8", "0.9")
    requests = [r for r in talk(yaml, 27, words=700) if r.model == "gpt-4o-mini"]
    print(f"    requests for the summary: {len(requests)}, tokens {[r.tokens for r in requests]}")
    seen("several", len(requests) > 1)
    seen("none much above 4,000", max(r.tokens for r in requests) < 5_500)
    text = "".join(r.text for r in requests)
    seen("questions read of the 15 that left", sum(f"Question {n} " in text for n in range(15)), 15)
    one = yaml.replace("trim_tokens", "summary_requests: 1\n  trim_tokens")
    trimmed = [r for r in talk(one, 27, words=700) if r.model == "gpt-4o-mini"]
    print(f"    with `summary_requests: 1`: tokens {[r.tokens for r in trimmed]}")
    seen("one of at most 4,000 and its words", (len(trimmed), trimmed[0].tokens < 5_500), (1, True))
    seen("it reads the newest of what left", "Question 14 " in trimmed[0].text)
    seen("and not the oldest", "Question 0 " in trimmed[0].text, False)


@row(14, "`summary_prompt`")
def prompt() -> None:
    yaml = BLOCK.replace("summary_prompt: null", "summary_prompt: Name the rivers.")
    yaml = yaml.replace("model_name: null", "model_name: gpt-4o-mini")
    requests = talk(yaml, 32, words=100)
    sent = next(r for r in requests if r.model == "gpt-4o-mini")
    seen("the prompt is sent", "Name the rivers." in sent.whole)
    after = asked(requests)[-1].text
    seen("the summary, as the model wrote it, is in the request after", SUMMARY in after)


@row(
    15,
    "the default prompt: “Summarize the following conversation concisely”",
    "different: it asks for a structured summary; as written with "
    "`summary_prompt: Summarize the following conversation concisely`",
)
def default_prompt() -> None:
    words = "Summarize the following conversation concisely"
    sent = next(r for r in documented() if is_summary(r)).whole
    seen("the default asks for sections", "##" in sent)
    yaml = BLOCK.replace("summary_prompt: null", f"summary_prompt: {words}")
    seen("the setting is sent", words in next(r for r in talk(yaml, 30) if is_summary(r)).whole)


@row(
    16,
    "a system message with the summary, then the kept messages",
    "different: a user message with the record and the summary, then the kept messages: in a system "
    "message quotes of tools and files would have the authority of instructions; as written with "
    "`summary_role: system` (a short user's message follows where a provider refuses an assistant's "
    "as the first)",
)
def reconstruction() -> None:
    request = asked(documented())[25]
    rest = [m for m in request.messages if m.type != "system"]
    seen("first message", (rest[0].type, str(rest[0].text)[:15]), ("human", "<thread-record>"))
    seen("the summary is in it", SUMMARY in str(rest[0].text))
    seen("result: messages", len(rest), 21)
    request = asked(talk(BLOCK + "  summary_role: system\n", 26))[25]
    first, *kept = request.messages[1:]
    seen("type of the first message with the setting", first.type, "system")
    seen("the summary is in it", SUMMARY in str(first.text))
    seen("messages after it, with a short one", len(kept), 21)


@row(
    17,
    "a summary at every trigger",
    "as written, for 1,000 tokens and more; less is read with a later one",
)
def every_trigger() -> None:
    requests = talk(BLOCK, 44, words=100)
    seen(
        "compactions and summaries", (len(folds(requests)), sum(map(is_summary, requests))), (2, 2)
    )


@row(18, "class `SummarizationMiddleware`")
def middleware() -> None:
    LOG.clear()
    middleware = SummarizationMiddleware(
        model("summarizer", answer),
        trigger=[("fraction", 0.8), ("messages", 50)],
        keep=("messages", 20),
        trim_tokens_to_summarize=4000,
    )
    agent = create_agent(model("agent", answer, 32_000), middleware=[middleware])
    history: list[BaseMessage] = []
    for n in range(27):
        state = {"messages": [*history, HumanMessage(f"Question {n} " + "why " * 100)]}
        history = agent.invoke(state, {"configurable": {"thread_id": "t"}})["messages"]
    seen("messages of requests 25 and 26", sizes(LOG)[24:26], [49, 21])
    seen("requests for summaries", sum(r.model == "summarizer" for r in LOG) > 0)


@row(
    19,
    "the model's own tokenizer",
    "different: o200k, corrected by the provider's reports; as written with "
    "`token_counter=model.get_num_tokens_from_messages`",
)
def tokenizer() -> None:
    LOG.clear()
    counted: list[int] = []

    def count(messages: Sequence[BaseMessage]) -> int:
        counted.append(len(messages))
        return sum(len(str(m.text)) // 4 + 4 for m in messages)

    agent = create_agent(
        model("agent", answer), middleware=[ContextMiddleware(token_counter=count)]
    )
    agent.invoke({"messages": "Question 1"}, {"configurable": {"thread_id": "t"}})
    seen("a counter of messages of one's own is called", len(counted) > 0)
    seen("tokens of `Hello, world!` by default", exact_counter()("Hello, world!"), 4)


@row(20, "`max_input_tokens` of the model")
def max_input_tokens() -> None:
    LOG.clear()
    for window, expected in ((8_000, True), (200_000, False)):
        LOG.clear()
        policy = {"trigger": ("fraction", 0.8), "keep": ("messages", 4)}
        agent = create_agent(
            model("agent", answer, window),
            middleware=[SummarizationMiddleware(model("summarizer", answer), **policy)],
        )
        history: list[BaseMessage] = []
        for n in range(10):
            state = {"messages": [*history, HumanMessage(f"Question {n} " + "why " * 900)]}
            history = agent.invoke(state, {"configurable": {"thread_id": "t"}})["messages"]
        seen(f"compacted at 0.8 x {window:,} in 10 turns of 960 tokens", bool(folds(LOG)), expected)


class River(Recorded):
    """A model of an unknown provider, without a profile."""

    @property
    def _llm_type(self) -> str:
        return "river"


@row(
    21,
    "a model of which no window is known",
    "different: a dated table of windows, else 32,000 with a warning that names the setting; "
    "as written with `models[].window`; deepagents' fallback is `window`, `trigger` and `keep`",
)
def unknown_window() -> None:
    LOG.clear()
    unknown = River(model="river-7b")
    with logged("thalweg") as lines:
        agent = create_agent(unknown, middleware=[ContextMiddleware()])
        agent.invoke({"messages": "Question 1"}, {"configurable": {"thread_id": "t"}})
    print("    log:", *[line for line in lines if "window" in line][:1])
    seen("it names the default", any("32,000" in line for line in lines))
