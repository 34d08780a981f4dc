"""Compaction by the server in the Responses API.

Sources: developers.openai.com/api/docs/guides/compaction and the types of the package openai 3.54
(`ContextManagement`, `ResponseCompactionItemParam`), read 2026-11-23. The output begins with an
opaque item; what precedes the newest one is not needed any more. That an item is refused by another
model is not documented; it is what clients report (github.com/openclaw/openclaw/issues/110075).
"""

import json
from collections.abc import Iterator, Sequence

from strict_llm.exchange import Object, RequestProblem
from strict_llm.rules.openai_problems import wrong_type, wrong_value
from strict_llm.sealing import opened, sealed

LEAST_THRESHOLD = 1_000


def visible(items: Sequence[Object]) -> list[Object]:
    """Return the items from the newest compaction on."""
    found = [n for n, item in enumerate(items) if item.get("type") == "compaction"]
    return list(items[found[-1] :] if found else items)


def sealed_summary(model: str, text: str) -> str:
    """Seal a summary for the model that wrote it; `summary_in` opens it."""
    return sealed(json.dumps([model, text]))


def summary_in(item: Object) -> tuple[str, str]:
    """Return the model that wrote a compaction item, and its summary; empty if it is not ours."""
    text = opened(str(item.get("encrypted_content")))
    if text is None:
        return "", ""
    model, summary = json.loads(text)
    return model, summary


def compaction_problems(body: Object) -> Iterator[RequestProblem]:
    """Refuse invalid settings."""
    given = body.get("context_management") or []
    if not isinstance(given, list):
        yield wrong_type("context_management", "an array of objects", given)
        return
    for n, entry in enumerate(given):
        path = f"context_management[{n}]"
        if not isinstance(entry, dict) or entry.get("type") != "compaction":
            kind = entry.get("type") if isinstance(entry, dict) else entry
            yield wrong_value(f"{path}.type", str(kind), ("compaction",))
        elif not isinstance(least := entry.get("compact_threshold"), int | None):
            yield wrong_type(f"{path}.compact_threshold", "an integer", least)
        elif least is not None and least < LEAST_THRESHOLD:
            yield RequestProblem(
                f"Invalid '{path}.compact_threshold': integer below minimum value. Expected a "
                f"value >= {LEAST_THRESHOLD}, but got {least} instead.",
                param=f"{path}.compact_threshold",
                code="integer_below_min_value",
            )


def foreign_problems(items: Sequence[Object], model: object) -> Iterator[RequestProblem]:
    """Refuse items that another model wrote, or no model."""
    for item in items:
        if item.get("type") == "compaction" and summary_in(item)[0] != model:
            yield RequestProblem(
                f"The encrypted content for item {item.get('id', '')} could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed.",
                code="invalid_encrypted_content",
            )


def is_triggered(body: Object, tokens: int) -> bool:
    """Return whether a valid body of so many tokens is compacted."""
    entries = body.get("context_management") or ()
    return any(tokens >= least for e in entries if (least := e.get("compact_threshold")))
