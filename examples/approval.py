"""A human in the loop: some calls wait until a person approves, edits or rejects them."""

from langchain.agents.middleware import InterruptOnConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from scripted import calls, model, show
from thalweg_agent import create_deep_agent

SENT = []


def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    SENT.append((to, text))
    return f"sent to {to}"


def mails(*people: str) -> list:
    """Write the same mail to each of them."""
    return [calls("send_mail", to=who, text="The office is closed on Friday.") for who in people]


agent = create_deep_agent(
    model=model(
        *mails("team@example.org", "everyone@example.org", "press@example.org"),
        "The team and the neighbours know; the press does not.",
    ),
    tools=[send_mail],
    interrupt_on={
        "send_mail": InterruptOnConfig(allowed_decisions=["approve", "edit", "reject"]),
    },
    checkpointer=InMemorySaver(),  # the run rests there until the answer comes
)
thread = {"configurable": {"thread_id": "friday"}}
decisions = [
    {"type": "approve"},
    {
        "type": "edit",
        "edited_action": {
            "name": "send_mail",
            "args": {"to": "neighbours@example.org", "text": "We are closed on Friday."},
        },
    },
    {"type": "reject", "message": "Not the press."},
]

result = agent.invoke({"messages": "Tell everybody that we are closed on Friday."}, thread)
for decision in decisions:
    if "__interrupt__" not in result:
        break
    (action,) = result["__interrupt__"][0].value["action_requests"]
    print("It asks: may I", action["name"], action["args"], "->", decision["type"])
    result = agent.invoke(Command(resume={"decisions": [decision]}), thread)

print("\nSent:", *SENT, sep="\n  ")
print("\nThe conversation:")
show(result["messages"])
