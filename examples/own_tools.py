"""Your own tools: a function with types and a docstring is all that is needed."""

from typing import Literal

from scripted import REQUESTS, calls, model, show
from thalweg_agent import create_deep_agent

RATES = {"EUR": 1.0, "USD": 1.16, "CHF": 0.93}


def exchange_rate(currency: Literal["EUR", "USD", "CHF"]) -> float:
    """Look up what one euro is worth. Use this instead of guessing.

    Args:
        currency: The other currency.
    """
    return RATES[currency]


agent = create_deep_agent(
    model=model(calls("exchange_rate", currency="CHF"), "250 euros are 232.50 francs."),
    tools=[exchange_rate],  # beside the built-in ones
)
result = agent.invoke({"messages": "What are 250 euros in Swiss francs?"})

show(result["messages"])
offered = next(tool for tool in REQUESTS[0].tools if tool["name"] == "exchange_rate")
print("\nWhat the model is told about the tool:")
print(" ", offered["description"].splitlines()[0])
print(" ", offered["parameters"]["properties"])
