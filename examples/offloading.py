"""Offloading: a result too large to read is kept whole, and there is a way to look into it."""

import re

from langchain_core.messages import AIMessage

from scripted import REQUESTS, calls, model, show
from thalweg_agent import create_deep_agent


def read_log() -> str:
    """Read yesterday's log, all of it."""
    lines = [
        f"{n // 60 % 24:02}:{n % 60:02} request {n} answered in {n % 97} ms" for n in range(6_000)
    ]
    lines[4_321] = "00:01 request 4321 FAILED: the disk is full"
    return "\n".join(lines)


def search(messages: list) -> AIMessage:
    """Follow the reference that replaces the log, of either kind."""
    note = messages[-1].text
    if handle := re.search(r'recall\(handle="(\w+)"', note):
        return calls("recall", handle=handle[1], query="FAILED")
    path = re.search(r"/\S*large_tool_results/\w+", note)
    return calls("grep", pattern="FAILED", path=path[0], output_mode="content")


agent = create_deep_agent(
    model=model(calls("read_log"), search, "Request 4321 failed because the disk was full."),
    tools=[read_log],
)
agent.invoke({"messages": "What went wrong yesterday?"})

print("What the model was sent last:")
show([m for m in REQUESTS[-1].messages if m.type != "system"], lines=14)
print("\nThe log has", len(read_log()), "characters. What was sent, in tokens:")
print(" ", *(request.tokens for request in REQUESTS))
