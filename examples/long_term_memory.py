"""Long-term memory: what lies under /memories/ outlives the conversation, for this user alone.

A `CompositeBackend` sends some paths elsewhere. Here /memories/ is stored in a LangGraph store (in
production one that is kept in a database), and all other files remain with their thread.
"""

from dataclasses import dataclass

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from scripted import calls, model, show
from thalweg_agent import create_deep_agent
from thalweg_agent.backends import CompositeBackend, StateBackend, StoreBackend


@dataclass
class User:
    """Who is asking."""

    id: str


PROMPT = """You are a travel agent.

What a traveller likes stands in /memories/preferences.txt. Read it before you suggest anything,
and write down there what you learn. Drafts go to /drafts/."""

agent = create_deep_agent(
    model=model(
        calls("write_file", file_path="/memories/preferences.txt", content="no flights\n"),
        calls("write_file", file_path="/drafts/trip.md", content="By train to Ghent.\n"),
        "A train to Ghent, then?",
        calls("glob", pattern="**/*", path="/"),
        calls("read_file", file_path="/memories/preferences.txt"),
        "The night train to Vienna.",
        calls("read_file", file_path="/memories/preferences.txt"),
        "Do you mind flying?",
    ),
    system_prompt=PROMPT,
    backend=CompositeBackend(
        default=StateBackend(),
        routes={
            "/memories/": StoreBackend(namespace=lambda runtime: (runtime.context.id, "memories"))
        },
    ),
    context_schema=User,
    store=InMemoryStore(),
    checkpointer=InMemorySaver(),
)


def ask(thread: str, user: str, words: str) -> None:
    """Go on with a thread as a user, and print what happens."""
    print(f"\n{thread}, {user}:")
    config = {"configurable": {"thread_id": thread}}
    show(agent.invoke({"messages": words}, config, context=User(user))["messages"])


ask("thread 1", "ada", "A weekend in May, please. I never fly.")
ask("thread 2", "ada", "And something for the autumn?")  # the draft is gone, the preference is not
ask("thread 3", "grace", "A weekend in June, please.")  # another user's memory is not hers
