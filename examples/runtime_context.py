"""Runtime context: keys and identities reach the tools, also a subagent's, and never the model."""

from dataclasses import dataclass

from langchain.tools import ToolRuntime, tool

from scripted import REQUESTS, calls, model, show
from thalweg_agent import create_deep_agent


@dataclass
class Account:
    """Who is asking, and with which key."""

    user_id: str
    api_key: str


ORDERS = {"u-17": ["a kettle", "two cups"]}


@tool
def list_orders(runtime: ToolRuntime[Account]) -> str:
    """List the orders of the customer who is asking."""
    assert runtime.context.api_key == "sk-secret"
    return ", ".join(ORDERS[runtime.context.user_id])


agent = create_deep_agent(
    model=model(
        calls("task", description="Which orders are open?", subagent_type="clerk"),
        calls("list_orders"),  # this is the clerk
        "Open: a kettle, two cups.",  # and its report
        "You are waiting for a kettle and two cups.",
    ),
    tools=[list_orders],
    subagents=[
        {
            "name": "clerk",
            "description": "Looks up orders.",
            "system_prompt": "Answer in one line.",
        }
    ],
    context_schema=Account,
)
result = agent.invoke(
    {"messages": "What am I waiting for?"}, context=Account(user_id="u-17", api_key="sk-secret")
)
show(result["messages"])

sent = str(REQUESTS)
print("\nRequests:", len(REQUESTS), "| the key is in one of them:", "sk-secret" in sent)
print("The user's id is in one of them:", "u-17" in sent)
