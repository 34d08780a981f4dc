"""Answers with a shape: from the agent to the caller, and from a subagent to the agent."""

from pydantic import BaseModel, Field

from scripted import calls, model, show
from thalweg_agent import create_deep_agent


class Reading(BaseModel):
    """What a subagent reports."""

    city: str
    celsius: float


class Advice(BaseModel):
    """What the caller gets."""

    coat: bool
    reason: str = Field(description="one sentence")


def thermometer(city: str) -> float:
    """Read the thermometer of a city."""
    return {"Oslo": -4.0}.get(city, 20.0)


agent = create_deep_agent(
    model=model(
        calls("task", description="How warm is it in Oslo?", subagent_type="weather"),
        calls("Advice", coat=True, reason="It is four degrees below zero."),
    ),
    subagents=[
        {
            "name": "weather",
            "description": "Measures temperatures.",
            "system_prompt": "Measure, never guess.",
            "tools": [thermometer],
            "model": model(
                calls("thermometer", city="Oslo"), calls("Reading", city="Oslo", celsius=-4.0)
            ),
            "response_format": Reading,
        }
    ],
    response_format=Advice,
)
result = agent.invoke({"messages": "I travel to Oslo today. Do I need a coat?"})

show(result["messages"])
advice = result["structured_response"]
print("\nThe caller gets:", repr(advice))
