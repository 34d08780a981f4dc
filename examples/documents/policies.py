"""Where the documents' settings compact, and what is kept: figures for docs/deerflow-features.md."""

from collections.abc import Mapping

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from world import LOG, model

from thalweg import ContextMiddleware, ContextPolicy
from thalweg.engine.tokens import exact_counter

DEERFLOW = {
    "trigger": [{"type": "fraction", "value": 0.8}, {"type": "messages", "value": 50}],
    "keep": {"type": "messages", "value": 20},
}
DEEPAGENTS = {
    "trigger": {"type": "fraction", "value": 0.85},
    "keep": {"type": "fraction", "value": 0.1},
}
SHARES: Mapping[str, tuple[Mapping[str, object], float, str]] = {
    "DeerFlow": (DEERFLOW, 0.8, "80 % or 50 messages; 20 stay"),
    "deepagents": (DEEPAGENTS, 0.85, "85 %; 10 % stay"),
}
WINDOWS = (8_000, 32_000, 200_000)


def compaction(
    settings: Mapping[str, object], window: int, turn: int
) -> tuple[int, int, list[int]]:
    """Chat until the first compaction.

    Returns:
        Messages and tokens of the last request before it, and the tokens of each message of the
        request after it: first those of the record.
    """
    LOG.clear()
    count = exact_counter()
    policy = ContextPolicy.from_mapping({**settings, "summarize": False})
    agent = create_agent(
        model("agent", lambda messages: "Answer.", window), middleware=[ContextMiddleware(policy)]
    )
    history: list[BaseMessage] = []
    before: list[int] = []
    for n in range(40):
        state = {"messages": [*history, HumanMessage(f"Question {n} " + "why " * turn)]}
        history = agent.invoke(state, {"configurable": {"thread_id": "t"}})["messages"]
        sizes = [count(str(m.text)) for m in LOG[-1].messages]
        if len(sizes) < len(before):
            return len(before), sum(before), sizes
        before = sizes
    raise RuntimeError("40 turns without a compaction")


def policies() -> str:
    """Return a table: for each author, window and size of turns, where it compacts and what it keeps."""
    lines = [
        "| policy | of the documents | window | tokens of a turn | last request before | record | what stays |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, (settings, share, documented) in SHARES.items():
        for window in WINDOWS:
            for turn in (20, window // 16) if "messages" in documented else (window // 32,):
                messages, tokens, after = compaction(settings, window, turn)
                lines.append(
                    f"| {name} | {documented} ({share * window:,.0f}) | {window:,} | {turn:,} | "
                    f"{messages} messages, {tokens:,} tokens ({tokens / window:.0%}) | about {round(after[0], -2):,} | "
                    f"{len(after) - 1} messages, {sum(after[1:]):,} tokens ({sum(after[1:]) / window:.1%}) |"
                )
    return "\n".join(lines) + "\n"
