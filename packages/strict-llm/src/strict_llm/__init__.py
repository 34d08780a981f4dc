"""A model provider on the loopback with the refusals of the real ones.

Two rules: it refuses with the status and the body of the provider whose dialect it implements; it
counts every token exactly, so that a request that fits here fits by the number.

    with StrictProvider(window=16_000) as provider:
        model = ChatOpenAI(base_url=provider.openai_url, api_key="x", model="strict-1")
        provider.answer = lambda request: Answer("hello")
        provider.fail_next("rate_limit")
"""

from strict_llm.exchange import Answer, Finish, Request, Script, Seen, Tool, WireName
from strict_llm.faults import FaultName
from strict_llm.provider import Model, StrictProvider, brief

__all__ = [
    "Answer",
    "FaultName",
    "Finish",
    "Model",
    "Request",
    "Script",
    "Seen",
    "StrictProvider",
    "Tool",
    "WireName",
    "brief",
]
