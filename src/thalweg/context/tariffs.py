"""The prices that providers ask, model by model: the one table of them.

A row gives dollars as the provider's page has them; the ratios are worked out. Where a page
leaves something open, the row takes what changes a context less, and its note says so.
`docs/prices.md` shows the table; `thalweg.context.matching` finds a model's row.
"""

from collections.abc import Mapping
from datetime import date

from thalweg.context.pricing import Tariff

Cliff = tuple[int, float, float]
"""Input tokens above which a whole request costs more; how many times the price of its input,
cached or not; how many times that of its answer."""

LIFE_1H = 3_600.0
WRITE_1H = 2.0
"""What Anthropic and Moonshot take for a prefix that lives an hour."""


def _model(
    family: Tariff,
    name: str,
    usd: tuple[float, float, float],
    *,
    cliffs: tuple[Cliff, ...] = (),
    minimum: int | None = None,
    lifetime_s: float | None = None,
    note: str = "",
) -> Tariff:
    """Make a model's row from dollars per million tokens of input, cached input and answer."""
    plain, cached, answer = usd
    read, output = round(cached / plain, 4), round(answer / plain, 4)
    changes: dict[str, object] = {
        "name": name,
        "base": plain,
        "read": read,
        "output": output,
        "tiers": [
            {
                "above": above,
                "input": times,
                "read": round(read * times, 4),
                "write": round(family.write * times, 4),
                "output": round(output * answers, 4),
            }
            for above, times, answers in cliffs
        ],
        "minimum": minimum or family.minimum,
        "lifetime_s": lifetime_s or family.lifetime_s,
        "note": note,
    }
    return Tariff.model_validate({**family.model_dump(), **changes})


def _for_an_hour(tariff: Tariff) -> Tariff:
    """Make the row of the same model with a cache that lives an hour."""
    dearer = WRITE_1H / tariff.write
    tiers = (t.model_copy(update={"write": round(t.write * dearer, 4)}) for t in tariff.tiers)
    changes = {"name": f"{tariff.name}-1h", "write": WRITE_1H, "lifetime_s": LIFE_1H}
    return tariff.model_copy(update={**changes, "tiers": tuple(tiers)})


_ANTHROPIC = Tariff(
    name="anthropic",
    read=0.1,
    write=1.25,
    lifetime_s=300,
    breakpoints=4,
    lookback=20,
    base=5.0,
    source="https://platform.claude.com/docs/en/about-claude/pricing",
    dated=date(2026, 10, 24),
    note="The base price is that of Claude Opus 5, the newest whose reads cost a tenth.",
)
_OPEN_MINIMUM = "No page read says from which length it is cached; that of older models is taken."
_COLLECTED = date(2026, 11, 1)
"""Of genai-prices 0.2.3, where a price is from this collection and not from a copy of the page."""
_ANTHROPIC_NOV = _ANTHROPIC.model_copy(update={"dated": _COLLECTED})
_NEWEST = "From the collection genai-prices 0.2.3. " + _OPEN_MINIMUM
_CLAUDE = (
    _model(_ANTHROPIC_NOV, "claude-fable-5-2", (8, 0.2, 40), minimum=512, note=_NEWEST),
    _model(_ANTHROPIC_NOV, "claude-mythos-5-2", (8, 0.2, 40), minimum=512, note=_NEWEST),
    _model(_ANTHROPIC, "claude-fable-5-1", (10, 0.25, 50), minimum=512, note=_OPEN_MINIMUM),
    _model(_ANTHROPIC, "claude-mythos-5-1", (10, 0.25, 50), minimum=512, note=_OPEN_MINIMUM),
    _model(_ANTHROPIC, "claude-fable-5", (10, 1, 50), minimum=512),
    _model(_ANTHROPIC, "claude-mythos-5", (10, 1, 50), minimum=512),
    _model(_ANTHROPIC, "claude-opus-5-5", (4, 0.2, 20), note=_OPEN_MINIMUM),
    _model(_ANTHROPIC, "claude-opus-5", (5, 0.5, 25), minimum=512),
    _model(_ANTHROPIC, "claude-opus-4-8", (5, 0.5, 25)),
    _model(_ANTHROPIC, "claude-opus-4-7", (5, 0.5, 25), minimum=2_048),
    _model(_ANTHROPIC, "claude-opus-4-6", (5, 0.5, 25), minimum=4_096),
    _model(_ANTHROPIC, "claude-opus-4-5", (5, 0.5, 25), minimum=4_096),
    _model(_ANTHROPIC, "claude-opus-4-1", (15, 1.5, 75)),
    _model(_ANTHROPIC, "claude-opus-4", (15, 1.5, 75)),
    _model(
        _ANTHROPIC,
        "claude-sonnet-5-5",
        (2, 0.1, 10),
        note="Reads cost a twentieth since 7 October 2026. " + _OPEN_MINIMUM,
    ),
    _model(_ANTHROPIC, "claude-sonnet-5", (2, 0.2, 10)),
    _model(
        _ANTHROPIC,
        "claude-sonnet-4-6",
        (3, 0.3, 15),
        minimum=2_048,
        note="Pages give 1,024 and 2,048 tokens from which it is cached.",
    ),
    _model(_ANTHROPIC, "claude-sonnet-4-5", (3, 0.3, 15), cliffs=((200_000, 2, 1.5),)),
    _model(_ANTHROPIC, "claude-sonnet-4", (3, 0.3, 15)),
    _model(
        _ANTHROPIC,
        "claude-haiku-5-5",
        (0.1, 0.01, 0.5),
        cliffs=((100_000, 5, 5),),
        minimum=4_096,
        note=_OPEN_MINIMUM,
    ),
    _model(_ANTHROPIC, "claude-haiku-4-5", (1, 0.1, 5), minimum=4_096),
    _model(_ANTHROPIC, "claude-3-7-sonnet", (3, 0.3, 15)),
    _model(_ANTHROPIC, "claude-3-5-haiku", (0.8, 0.08, 4), minimum=2_048),
)

_OPENAI = Tariff(
    name="openai",
    read=0.1,
    write=1.0,
    output=8.0,
    block=128,
    lifetime_s=3_600,
    base=1.25,
    source="https://developers.openai.com/api/docs/pricing",
    dated=date(2026, 11, 5),
    note="The base price is that of GPT-5.1. The cache forgets within the hour, often in minutes, "
    "and lives a day on demand: the hour is taken.",
)
_OPENAI_56 = _OPENAI.model_copy(
    update={
        "name": "openai-6",
        "write": 1.25,
        "output": 5.0,
        "block": 1,
        "breakpoints": 4,
        "lifetime_s": 1_800.0,
        "base": 2.0,
        "note": "GPT-5.6 and later, with the base price of GPT-6 Sol. One place is marked unasked; "
        "entries live half an hour at least, and are found at any of the last 80 marks.",
    }
)
_LONG = ((272_000, 2.0, 1.5),)
_NO_CACHE = "No price for cached input is given."
_GPT = (
    _model(_OPENAI_56, "gpt-6.1-sol", (2, 0.1, 10), cliffs=_LONG),
    _model(_OPENAI_56, "gpt-6.1-terra", (1, 0.05, 5), cliffs=_LONG),
    _model(_OPENAI_56, "gpt-6-astra", (10, 1, 50), cliffs=_LONG),
    _model(_OPENAI_56, "gpt-6-sol", (2, 0.2, 10), cliffs=_LONG),
    _model(_OPENAI_56, "gpt-6-luna", (0.1, 0.01, 0.5), cliffs=_LONG),
    _model(_OPENAI_56, "gpt-5.6-sol", (4, 0.4, 20), cliffs=_LONG),
    _model(_OPENAI_56, "gpt-5.6-terra", (2, 0.2, 12), cliffs=_LONG),
    _model(_OPENAI_56, "gpt-5.6-luna", (0.2, 0.02, 1.2), cliffs=_LONG),
    _model(_OPENAI, "gpt-5.5", (5, 0.5, 30), cliffs=_LONG),
    _model(_OPENAI, "gpt-5.5-pro", (30, 30, 180), cliffs=_LONG, note=_NO_CACHE),
    _model(_OPENAI, "gpt-5.4", (2.5, 0.25, 15), cliffs=_LONG),
    _model(_OPENAI, "gpt-5.4-mini", (0.75, 0.075, 4.5)),
    _model(_OPENAI, "gpt-5.4-nano", (0.2, 0.02, 1.25)),
    _model(_OPENAI, "gpt-5.4-pro", (30, 30, 180), cliffs=_LONG, note=_NO_CACHE),
    _model(_OPENAI, "gpt-5.3", (1.75, 0.175, 14)),
    _model(_OPENAI, "gpt-5.2", (1.75, 0.175, 14)),
    _model(_OPENAI, "gpt-5.2-pro", (21, 21, 168), note=_NO_CACHE),
    _model(_OPENAI, "gpt-5.1", (1.25, 0.125, 10)),
    _model(_OPENAI, "gpt-5.1-codex-mini", (0.25, 0.025, 2)),
    _model(_OPENAI, "gpt-5", (1.25, 0.125, 10)),
    _model(_OPENAI, "gpt-5-mini", (0.25, 0.025, 2)),
    _model(_OPENAI, "gpt-5-nano", (0.05, 0.005, 0.4)),
    _model(_OPENAI, "gpt-5-pro", (15, 15, 120), note=_NO_CACHE),
    _model(_OPENAI, "gpt-4.1", (2, 0.5, 8)),
    _model(_OPENAI, "gpt-4.1-mini", (0.4, 0.1, 1.6)),
    _model(_OPENAI, "gpt-4.1-nano", (0.1, 0.025, 0.4)),
    _model(_OPENAI, "gpt-4o", (2.5, 1.25, 10)),
    _model(_OPENAI, "gpt-4o-mini", (0.15, 0.075, 0.6)),
    _model(_OPENAI, "o4-mini", (1.1, 0.275, 4.4)),
    _model(_OPENAI, "o3", (2, 0.5, 8)),
    _model(_OPENAI, "o3-mini", (1.1, 0.55, 4.4)),
    _model(_OPENAI, "o3-pro", (20, 20, 80), note=_NO_CACHE),
    _model(_OPENAI, "o1", (15, 7.5, 60)),
)

_GEMINI = Tariff(
    name="gemini",
    read=0.1,
    write=1.0,
    output=8.0,
    minimum=2_048,
    base=1.25,
    source="https://ai.google.dev/gemini-api/docs/pricing",
    dated=date(2026, 10, 14),
    note="The cache that nobody asks for: hits are not promised, and no lifetime is given, so none "
    "is assumed. Explicit caches cost storage by the hour and are not in this table. The base "
    "price is that of Gemini 2.5 Pro.",
)
_GEMINI_LONG = ((200_000, 2.0, 1.5),)
_HALF = "Half the price until 31 December 2026; it doubles then, and the ratios stay."
_GEMINIS = (
    _model(
        _GEMINI,
        "gemini-4-argon",
        (2, 0.1, 10),
        minimum=4_096,
        note="Half the price until 30 November 2026; it doubles then, and the ratios stay.",
    ),
    _model(_GEMINI, "gemini-3.8-flash", (0.75, 0.075, 3.75), minimum=4_096, note=_HALF),
    _model(_GEMINI, "gemini-3.7-flash", (0.75, 0.075, 3.75), minimum=4_096, note=_HALF),
    _model(_GEMINI, "gemini-3.6-flash", (0.75, 0.075, 3.75), minimum=4_096, note=_HALF),
    _model(_GEMINI, "gemini-3.5-flash", (1.5, 0.15, 9), minimum=4_096),
    _model(_GEMINI, "gemini-3.5-flash-lite", (0.3, 0.03, 2.5), minimum=4_096),
    _model(_GEMINI, "gemini-3.1-pro", (2, 0.2, 12), cliffs=_GEMINI_LONG, minimum=4_096),
    _model(_GEMINI, "gemini-3.1-flash-lite", (0.25, 0.025, 1.5), minimum=4_096),
    _model(_GEMINI, "gemini-3-pro", (2, 0.2, 12), cliffs=_GEMINI_LONG, minimum=4_096),
    _model(_GEMINI, "gemini-3-flash", (0.5, 0.05, 3), minimum=4_096),
    _model(_GEMINI, "gemini-2.5-pro", (1.25, 0.125, 10), cliffs=_GEMINI_LONG),
    _model(_GEMINI, "gemini-2.5-flash", (0.3, 0.03, 2.5)),
    _model(_GEMINI, "gemini-2.5-flash-lite", (0.1, 0.01, 0.4)),
)

_PEAK = "Off-peak; twice that on weekdays from 1 to 4 and from 6 to 10 UTC."
_DEEPSEEK = Tariff(
    name="deepseek",
    read=0.02,
    write=1.0,
    output=4.0,
    minimum=64,
    block=64,
    base=0.15,
    source="https://api-docs.deepseek.com/quick_start/pricing",
    dated=date(2026, 11, 15),
    note=_PEAK + " The cache is on disk and lives for hours to days, so no lifetime is assumed. "
    "Since V4 it knows whole requests, common prefixes and unstated intervals; units of 64 "
    "tokens, as before, are assumed.",
)
_OLD_NAME = _PEAK + " A name of before V4, served by DeepSeek Flash."
_DEEPSEEKS = (
    _model(_DEEPSEEK, "deepseek-flash", (0.15, 0.003, 0.6), note=_PEAK),
    _model(_DEEPSEEK, "deepseek-v4-flash", (0.15, 0.003, 0.6), note=_PEAK),
    _model(_DEEPSEEK, "deepseek-v4-pro", (0.66, 0.022, 1.98), note=_PEAK),
    _model(_DEEPSEEK, "deepseek-v3.2", (0.28, 0.028, 0.42), note="As it was sold until V4."),
    _model(_DEEPSEEK, "deepseek-chat", (0.15, 0.003, 0.6), note=_OLD_NAME),
    _model(_DEEPSEEK, "deepseek-reasoner", (0.15, 0.003, 0.6), note=_OLD_NAME),
)

_ROUTED = "Prices as OpenRouter passes them on; the list price of a region may be another."
_QWEN = Tariff(
    name="qwen",
    read=0.2,
    write=1.0,
    output=3.0,
    base=1.475,
    source="https://www.alibabacloud.com/help/en/model-studio/context-cache",
    dated=date(2026, 10, 11),
    note="The cache that nobody asks for: hits are not promised, and no lifetime is given, so none "
    "is assumed. The base price is that of Qwen3.7 Max.",
)
_QWEN_EXPLICIT = _QWEN.model_copy(
    update={
        "name": "qwen-explicit",
        "read": 0.1,
        "write": 1.25,
        "lifetime_s": 300.0,
        "breakpoints": 4,
        "lookback": 20,
        "note": "The cache of marked places, for whoever marks them (`cache_control`).",
    }
)
_ROUTER = _QWEN.model_copy(update={"source": "https://openrouter.ai/qwen", "dated": _COLLECTED})
_QWENS = (
    _model(_ROUTER, "qwen3.8-max", (2, 0.25, 6), note=_ROUTED),
    _model(_ROUTER, "qwen3.8-flash", (0.15, 0.016, 0.47), note=_ROUTED),
    _model(_ROUTER, "qwen3.7-max", (1.475, 0.295, 4.425), note=_ROUTED),
    _model(_ROUTER, "qwen3.7-plus", (0.32, 0.064, 1.28), cliffs=((256_000, 3, 3),), note=_ROUTED),
    _model(
        _ROUTER,
        "qwen3.6-plus",
        (0.325, 0.065, 1.95),
        cliffs=((256_000, 4, 2),),
        note=_ROUTED + " Reads are taken to cost the usual fifth.",
    ),
    _model(
        _QWEN,
        "qwen3-max",
        (1.2, 0.24, 6),
        cliffs=((32_000, 2, 2), (128_000, 2.5, 2.5)),
        note="The list price outside China, read in May 2026.",
    ),
    _model(_ROUTER, "qwen-plus", (0.26, 0.052, 0.78), cliffs=((256_000, 3, 3),), note=_ROUTED),
)

_KIMI = Tariff(
    name="kimi",
    read=0.2,
    write=1.0,
    output=4.2,
    block=256,
    base=0.95,
    source="https://platform.kimi.ai/docs/pricing/chat",
    dated=date(2026, 10, 24),
    note="The base price is that of Kimi K2.7 Code. No page read gives lifetime or minimum of K2's "
    "cache: none and 1,024 are assumed. That it matches 256 tokens at once was measured by others.",
)
_K3_NOTE = "The cache that lives 5 minutes; -1h is the one that lives an hour."
_KIMIS = (
    _model(_KIMI, "kimi-k3.1-pro", (2, 0.2, 10), lifetime_s=300, note=_K3_NOTE),
    _model(_KIMI, "kimi-k3.1-pro-highspeed", (4, 0.2, 20), lifetime_s=300, note=_K3_NOTE),
    _model(_KIMI, "kimi-k3", (3, 0.3, 15), lifetime_s=300, note=_K3_NOTE),
    _model(_KIMI, "kimi-k2.7-code", (0.95, 0.19, 4)),
    _model(_KIMI, "kimi-k2.7-code-highspeed", (1.9, 0.38, 8)),
    _model(_KIMI, "kimi-k2.6", (0.95, 0.16, 4)),
    _model(_KIMI, "kimi-k2.5", (0.6, 0.1, 3)),
    _model(_KIMI, "kimi-k2", (0.6, 0.15, 2.5)),
)

LOCAL = Tariff.local(
    prefill_per_s=890,
    decode_per_s=40,
    read=0.01,
    note="Seconds of Qwen3.8 27B in 4 bits on one RTX 3090, behind 32,000 tokens of prompt; give "
    "your own speeds with `Tariff.local` or in the settings. That a cached token costs a hundredth "
    "of a new one, by slowing down an answer of 200, is an estimate.",
    source="https://github.com/noonghunna/club-3090/issues/1111",
    dated=date(2026, 8, 28),
)

MODELS: Mapping[str, tuple[Tariff, ...]] = {
    "anthropic": (_ANTHROPIC, *_CLAUDE),
    "openai": (_OPENAI, _OPENAI_56, *_GPT),
    "google": (_GEMINI, *_GEMINIS),
    "deepseek": (_DEEPSEEK, *_DEEPSEEKS),
    "qwen": (_QWEN, *_QWENS),
    "moonshot": (_KIMI, *_KIMIS),
    "ollama": (LOCAL,),
}
"""The rows of each provider, as `thalweg.middleware` names providers: first what stands for all
its models, then model by model."""

_HOURLY = (_ANTHROPIC, *_CLAUDE, *(t for t in _KIMIS if t.lifetime_s))

TARIFFS: dict[str, Tariff] = {
    t.name: t
    for t in (
        _ANTHROPIC,
        _for_an_hour(_ANTHROPIC),
        _OPENAI,
        _OPENAI_56,
        _GEMINI,
        _DEEPSEEK,
        _QWEN,
        _QWEN_EXPLICIT,
        _KIMI,
        LOCAL,
    )
}
"""Tariffs that stand for a provider's usual model, by name."""

NAMED: Mapping[str, Tariff] = {
    **TARIFFS,
    **{t.name: t for rows in MODELS.values() for t in rows},
    **{t.name: t for t in map(_for_an_hour, _HOURLY)},
}
"""Every tariff by name: those above, each model's, and with `-1h` those of a cache that lives an
hour."""
