"""A service over HTTP that remembers each of its users, and mixes up none.

    python examples/start/memory_service.py            # plays three requests against itself
    python examples/start/memory_service.py --serve    # listens on http://127.0.0.1:8000

It needs `fastapi`, `uvicorn` and `httpx2`, besides Thalweg's memory.

With a key: replace the line `MODEL = …` by `MODEL = "anthropic:claude-sonnet-4-6"`. The name of the
user comes from a header here; take it from the session or the token of your application.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import uvicorn
from fastapi import FastAPI, Header
from fastapi.testclient import TestClient
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from thalweg import ContextMiddleware
from thalweg.archive import open_archive
from thalweg.testing import ScriptedModel
from thalweg_memory import Memory, MemoryMiddleware, Scope, open_memory


def script(messages: Sequence[BaseMessage]) -> str:
    """Repeat what memory returns; a real model words an answer of its own."""
    seen = " ".join(m.text for m in messages)
    return "Try a vegan curry." if "vegan" in seen else "Try a steak."


MODEL = ScriptedModel(script=script)

archive = open_archive(":memory:")  # a path, or postgresql://… for many machines
store = open_memory(":memory:")
checkpointer = InMemorySaver()  # SqliteSaver or PostgresSaver keeps threads over a restart
app = FastAPI()


class Message(BaseModel):
    """What a user writes, and in which thread."""

    text: str
    thread: str = "main"


@app.put("/memory")
def remember(fact: Message, user: Annotated[str, Header()]) -> list[str]:
    """Store a statement of the user, and return all that is remembered of them."""
    memory = Memory(store, Scope(user))
    memory.remember(fact.text)
    return [one.content for one in memory.facts()]


@app.post("/chat")
def chat(message: Message, user: Annotated[str, Header()]) -> str:
    """Answer in a thread of the user."""
    agent = create_agent(
        MODEL,
        middleware=[
            MemoryMiddleware(Memory(store, Scope(user))),
            ContextMiddleware(archive=archive, owner=user),
        ],
        checkpointer=checkpointer,
    )
    # Checkpointers know no owners, so the name of the thread begins with the user's.
    config = {"configurable": {"thread_id": f"{user}/{message.thread}"}}
    return agent.invoke({"messages": [("user", message.text)]}, config)["messages"][-1].text


if "--serve" in sys.argv:
    uvicorn.run(app, port=8000)
else:
    http = TestClient(app)
    print(
        "ada:", http.put("/memory", json={"text": "User is vegan"}, headers={"user": "ada"}).json()
    )
    for user in ("ada", "bob"):
        answer = http.post("/chat", json={"text": "What shall I cook?"}, headers={"user": user})
        print(f"{user}:", answer.json())
