"""Cache breakpoints for the provider's prompt cache, added to a request when it is sent.

Anthropic caches up to a breakpoint, and accepts four of them in a request. Those of users and other
middleware are kept and count; ours use the remaining ones, at the places that `plan_marks` picks.
Nothing else in a request changes, and no message of a thread holds a breakpoint of ours. OpenAI
caches by itself, and gets a key for the requests of one thread.
"""

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel

from thalweg.archive import ThreadKey
from thalweg.context.request.models import Body, BodyTransform, class_names, layers
from thalweg.engine.pricing.table import LIFE_1H
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.breakpoints import (
    MAX_MARKS,
    BreakpointLayout,
    StableLifetime,
    plan_marks,
)

MARK = "cache_control"
_MARKABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})
"""Blocks that accept a breakpoint: reasoning and blocks of server tools do not, or are
undocumented."""
_OPENAI, _ANTHROPIC = "api.openai.com", "api.anthropic.com"


@dataclass(frozen=True, slots=True)
class _Block:
    path: tuple[str | int, ...]
    body: Mapping[str, Any] | str
    """The text itself if the API accepts one in place of a list of blocks."""
    role: str

    @property
    def mark(self) -> object:
        """The mark it has, if it has one."""
        return self.body.get(MARK) if isinstance(self.body, Mapping) else None


@dataclass(slots=True)
class CacheMarker:
    """Marks the requests of one thread, and remembers the blocks of the last one."""

    _last: list[bytes] = field(default_factory=list)
    """Digests of the content blocks of the last request."""
    _lifetime: StableLifetime = field(default_factory=StableLifetime)

    def transform(
        self,
        model: BaseChatModel,
        key: ThreadKey,
        tariff: Tariff,
        *,
        has_record: bool,
        is_continued: bool = True,
    ) -> BodyTransform | None:
        """Return a function that adds breakpoints to a sent request; `None` if its client has none.

        Args:
            model: The model of the request.
            key: Its thread.
            tariff: Prices of the model, with the rules of its cache.
            has_record: Whether its first message is a structured summary of a compaction.
            is_continued: Whether the thread continues from here: if not, the request reads
                the cache and writes nothing new to it.
        """

        def add_marks(body: Body) -> Body:
            now = time.time() if is_anthropic(model, official_only=True) else None
            return self.mark(
                body, tariff, has_record=has_record, is_continued=is_continued, now=now
            )

        def add_cache_key(body: Body) -> Body:
            extra = body.get("extra_body") or {}
            has_key = "prompt_cache_key" in body or "prompt_cache_key" in extra
            return body if has_key else {**body, "prompt_cache_key": _cache_key(key)}

        if is_anthropic(model) and tariff.breakpoints is not None:
            return add_marks
        return add_cache_key if is_openai(model) else None

    def mark(
        self,
        body: Body,
        tariff: Tariff,
        *,
        has_record: bool = False,
        is_continued: bool = True,
        now: float | None = None,
    ) -> Body:
        """Return a copy of a request's body with breakpoints; see `transform` for the arguments.

        With the time `now`, the pauses of the thread decide how long the stable prefix lives; a
        service that is not Anthropic's own may refuse another lifetime than the default's.
        """
        blocks = [*_content_blocks(body)]
        digests = [_digest(block) for block in blocks]
        layout = _layout(
            blocks, _sent_count(blocks, digests, self._last), body, has_record=has_record
        )
        if is_continued:
            self._last = digests
        else:
            sent_places = [place for place in layout.places if place <= layout.sent]
            layout = replace(layout, places=sent_places)
        max_marks = min(MAX_MARKS, tariff.breakpoints or MAX_MARKS)
        marks = plan_marks(layout, max_marks=max_marks, lookback=tariff.lookback or math.inf)
        own_ttl = "1h" if (tariff.lifetime_s or 0) >= LIFE_1H else "5m"
        if now is not None and is_continued:
            self._lifetime.send(now, tariff)
        for place in marks:
            ttl = "1h" if self._lifetime.is_hourly and place <= layout.stable else own_ttl
            body = _with_mark(body, blocks[place - 1], _ttl_at(place, blocks, body, ttl))
        return body


def _layout(
    blocks: Sequence[_Block], sent: int, body: Body, *, has_record: bool
) -> BreakpointLayout:
    """Return the possible breakpoints of a body, and those of others."""
    stable = sum(block.role in {"tools", "system"} for block in blocks)
    places = [place for place, block in enumerate(blocks, 1) if _is_markable(block)]
    foreign_places = [place for place, block in enumerate(blocks, 1) if block.mark]
    if body.get(MARK) and places:
        foreign_places.append(places[-1])
    record = stable + 1 if has_record else 0
    return BreakpointLayout(places, stable, record, sent, foreign_places)


def is_anthropic(model: object, *, official_only: bool = False) -> bool:
    """Return whether a model is a client of Anthropic's API; `official_only`: of its service."""
    addresses = (
        str(getattr(layer, "anthropic_api_url", ""))
        for layer in layers(model)
        if "ChatAnthropic" in class_names(type(layer))
    )
    return any(
        not official_only or urlsplit(address).hostname == _ANTHROPIC for address in addresses
    )


def is_openai(model: object, *, official_only: bool = True) -> bool:
    """Return whether a model is a client of OpenAI's API.

    Args:
        model: The model.
        official_only: Whether the service must be OpenAI's: others may refuse unknown parameters.
    """
    for layer in layers(model):
        names = class_names(type(layer))
        if "ChatOpenAI" in names and "AzureChatOpenAI" not in names:
            address = getattr(getattr(layer, "root_client", None), "base_url", None)
            return not official_only or getattr(address, "host", None) == _OPENAI
    return False


def _cache_key(key: ThreadKey) -> str:
    """Return a name of a thread for a provider, which reveals neither its owner nor its id."""
    return hashlib.sha256(json.dumps([key.owner, key.thread]).encode()).hexdigest()[:32]


def _content_blocks(body: Body) -> Iterator[_Block]:
    """Yield the content blocks in the order that the cache sees them."""
    for n, tool in enumerate(body.get("tools") or ()):
        if isinstance(tool, Mapping):
            yield _Block(("tools", n), tool, "tools")
    yield from _blocks_of_content(("system",), body.get("system"), "system")
    for n, message in enumerate(body.get("messages") or ()):
        if isinstance(message, Mapping):
            path = ("messages", n, "content")
            yield from _blocks_of_content(path, message.get("content"), str(message.get("role")))


def _blocks_of_content(path: tuple[str | int, ...], content: object, role: str) -> Iterator[_Block]:
    if isinstance(content, str):
        if content:
            yield _Block(path, content, role)
    elif isinstance(content, Sequence):
        for n, block in enumerate(content):
            if isinstance(block, Mapping | str):
                yield _Block((*path, n), block, role)


def _is_markable(block: _Block) -> bool:
    body = block.body
    if block.role not in {"tools", "system", "user", "assistant"}:
        return False
    if isinstance(body, str):
        return bool(body.strip()) and not isinstance(block.path[-1], int)
    if block.role == "tools":
        return not body.get("defer_loading")
    text = body.get("text")
    is_called_by_code = (
        isinstance(body.get("caller"), Mapping) and body["caller"].get("type") != "direct"
    )
    is_blank = isinstance(text, str) and not text.strip()
    return body.get("type") in _MARKABLE and not is_called_by_code and not is_blank


def _digest(block: _Block) -> bytes:
    body = block.body
    if isinstance(body, str):
        body = {"type": "text", "text": body}
    plain = {name: value for name, value in body.items() if name != MARK}
    text = json.dumps([block.role, plain], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _sent_count(blocks: Sequence[_Block], digests: Sequence[bytes], last: Sequence[bytes]) -> int:
    """Return the end of the blocks that were already sent to the provider.

    If the last request is unknown, these are all blocks before the newest answer.
    """
    if last:
        pairs = zip(digests, last, strict=False)
        return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(digests), len(last)))
    answers = [block.path[1] for block in blocks if block.role == "assistant"]
    if not answers:
        return 0
    return next(
        n for n, b in enumerate(blocks) if b.role == "assistant" and b.path[1] == answers[-1]
    )


def _ttl_at(place: int, blocks: Sequence[_Block], body: Body, ttl: str) -> str:
    """Return the lifetime of our breakpoint at a place: not longer than that of one before it."""
    ttls_before = [_ttl(block.mark) for block in blocks[: place - 1] if block.mark]
    ttls_after = [_ttl(block.mark) for block in blocks[place:] if block.mark]
    ttls_after += [_ttl(body[MARK])] if body.get(MARK) else []
    if "1h" in ttls_after:
        return "1h"
    return "5m" if "5m" in ttls_before else ttl


def _ttl(mark: object) -> str:
    return str((mark.get("ttl") if isinstance(mark, Mapping) else None) or "5m")


def _with_mark(body: Body, block: _Block, ttl: str) -> Body:
    """Copy a body with one block marked; all parts outside the path to the block are shared."""
    mark = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    if isinstance(block.body, str):
        marked_body = _with_value_at(
            body, block.path, [{"type": "text", "text": block.body, MARK: mark}]
        )
    else:
        marked_body = _with_value_at(body, (*block.path, MARK), mark)
    return {**marked_body}


def _with_value_at(holder: Any, path: Sequence[str | int], value: object) -> Any:  # noqa: ANN401 (JSON)
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        return {**holder, step: _with_value_at(holder.get(step), rest, value)}
    return [*holder[:step], _with_value_at(holder[step], rest, value), *holder[step + 1 :]]
