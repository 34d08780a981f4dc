"""What OpenAI refuses in `POST /v1/responses`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from strict_llm.exchange import Object, RequestProblem
from strict_llm.rules.openai_problems import empty_array, missing, objects, wrong_type
from strict_llm.rules.responses_compaction import (
    compaction_problems,
    foreign_problems,
    visible,
)
from strict_llm.rules.responses_items import (
    is_of_model,
    item_problems,
    kind_of,
    tool_problems,
)


@dataclass(slots=True)
class IssuedItems:
    """Ids of the items that this provider issued and has stored."""

    follower: dict[str, str] = field(default_factory=dict)
    """Of a reasoning item: the item it led to."""
    reasoning: dict[str, str] = field(default_factory=dict)
    """Of an item that reasoning led to: that reasoning item."""
    unstored: set[str] = field(default_factory=set)
    """Reasoning that was not to be stored."""

    def remember(self, reasoning: str, follower: str, *, stored: bool) -> None:
        """Note a reasoning item and the item it leads to."""
        self.follower[reasoning] = follower
        self.reasoning[follower] = reasoning
        if not stored:
            self.unstored.add(reasoning)


def problems(body: Object, issued: IssuedItems) -> Iterator[RequestProblem]:
    """List the problems of a request; of its order only if each item is well formed."""
    if not isinstance(body.get("model"), str):
        yield missing("model")
    given = body.get("input")
    if previous := body.get("previous_response_id"):
        yield RequestProblem(
            f"Previous response with id '{previous}' not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
    if given is None:
        yield missing("input")
    elif isinstance(given, list):
        malformed = [*objects("input", given, item_problems)]
        yield from malformed
        yield from () if malformed else _order(given, issued)
        if not malformed and len(rest := visible(given)) < len(given):
            yield from _pairing(rest)
        yield from () if malformed else foreign_problems(given, body.get("model"))
    elif not isinstance(given, str):
        yield wrong_type("input", "one of an array of objects or string", given)
    yield from compaction_problems(body)
    yield from _parameters(body)


def _parameters(body: Object) -> Iterator[RequestProblem]:
    for name in ("tools", "include"):
        if not isinstance(value := body.get(name) or [], list):
            yield wrong_type(name, "an array of objects", value)
            return
    if not isinstance(instructions := body.get("instructions"), str | None):
        yield wrong_type("instructions", "a string", instructions)
    tools = body.get("tools") or []
    yield from objects("tools", tools, tool_problems)
    known = [tool for tool in tools if isinstance(tool, dict)]
    searches = any(tool.get("type") == "tool_search" for tool in known)
    if not searches and any(tool.get("defer_loading") for tool in known):
        # quoted in github.com/Wei-Shaw/sub2api, issue 5942
        message = "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search."
        yield RequestProblem(message, param="tools")


def _order(items: list[Object], issued: IssuedItems) -> Iterator[RequestProblem]:
    if not items:
        yield empty_array("input")
    yield from _duplicates(items)
    yield from _reasoning(items, issued)
    yield from _required(items, issued.reasoning)
    yield from _pairing(items)


def _duplicates(items: list[Object]) -> Iterator[RequestProblem]:
    ids: set[str] = set()
    calls: set[str] = set()
    for item in items:
        own, call = str(item.get("id") or ""), item.get("call_id", "")
        if own and own in ids:
            yield RequestProblem(
                f"Duplicate item found with id {own}. Remove duplicate items from your input and "
                "try again.",
                param="input",
            )
        ids.add(own)
        if kind_of(item) == "function_call":
            if call in calls:
                yield RequestProblem(
                    f"Duplicate function call found with call_id {call}.", param="input"
                )
            calls.add(call)


def _reasoning(items: list[Object], issued: IssuedItems) -> Iterator[RequestProblem]:
    for item, after in pairwise([*items, {}]):
        if kind_of(item) != "reasoning":
            continue
        own = str(item.get("id") or "")
        follower = issued.follower.get(own)
        strays = follower is not None and after.get("id") not in (None, follower)
        if not item.get("encrypted_content") and (follower is None or own in issued.unstored):
            yield RequestProblem(
                f"Item with id '{own}' not found. "
                + (
                    "Items are not persisted when `store` is set to false. Try again with "
                    "`store` set to true, or remove this item from your input."
                    if own in issued.unstored
                    else ""
                ),
                404,
                param="input",
            )
        elif not is_of_model(after) or strays:
            yield RequestProblem(
                f"Item '{own}' of type 'reasoning' was provided without its required following "
                "item.",
                param="input",
            )


def _required(items: list[Object], reasoning: Mapping[str, str]) -> Iterator[RequestProblem]:
    before: set[str] = set()
    for item in items:
        own = str(item.get("id") or "")
        if own in reasoning and reasoning[own] not in before:
            yield RequestProblem(
                f"Item '{own}' of type '{kind_of(item)}' was provided without its required "
                f"'reasoning' item: '{reasoning[own]}'.",
                param="input",
            )
        before.add(own)


def _pairing(items: list[Object]) -> Iterator[RequestProblem]:
    waiting: dict[str, None] = {}
    for item in items:
        kind = kind_of(item)
        if kind == "function_call":
            waiting[item["call_id"]] = None
        elif kind == "function_call_output":
            call_id = item["call_id"]
            if call_id not in waiting:
                yield RequestProblem(
                    f"No tool call found for function call output with call_id {call_id}.",
                    param="input",
                )
            waiting.pop(call_id, None)
    for call_id in waiting:
        yield RequestProblem(f"No tool output found for function call {call_id}.", param="input")
