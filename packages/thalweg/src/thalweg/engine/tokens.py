"""Token counts: exact for OpenAI's vocabularies, calibrated upwards for every other.

Two rules: a text is counted once, when its message arrives; the same count serves the
trigger, the cut and the acceptance, which would else disagree.

Before a provider reports any usage, two parts of `token_factors.toml` bound its tokens.
`counter_for` makes the count of a text one that holds for a model's vocabulary: digits and scripts
that it splits finer than o200k cost up to four times as much. `first_calibration` is the rest, a
factor near 1 by kind of text. The rows of Claude were measured by `benchmarks/token_factors.py`:
growth of the reported input between two requests, divided by our count of the messages in between;
those of vocabularies by `benchmarks/token_bounds.py`.
"""

import json
import math
import re
import sys
import warnings
from bisect import bisect_right
from collections import Counter as Counted
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import MappingProxyType, ModuleType
from typing import Literal

from thalweg.engine.data_files import read_table
from thalweg.engine.entries import Media, Message, Opaque, Text, Thinking, ToolCall
from thalweg.engine.extras import install_line

Counter = Callable[[str], int]
"""Tokens in one text. One with a method `count_message` counts whole messages, media included."""

MESSAGE_OVERHEAD = 4
"""Tokens a provider adds around one message (OpenAI's chat format: 3, one more for a name)."""
CALL_OVERHEAD = 8
"""Tokens around one tool call: its id and the JSON that frames it."""


@cache
def exact_counter(encoding: str = "o200k_base") -> Counter:
    """Count tokens exactly, offline, in time linear in the text.

    Args:
        encoding: `o200k_base` (GPT-4o and later) or `cl100k_base`.

    Returns:
        A counter that never treats text as a special token and accepts any `str`, lone
        surrogates included; `byte_counter`, with a warning, if the compiled part of
        `bpe-openai` cannot be loaded.

    Example:
        >>> exact_counter()("hello world")
        2
    """
    try:
        count_utf8: Counter = _bindings().tokenizer_for_encoding(encoding).count
    except (ImportError, AttributeError) as error:
        install = install_line("--force-reinstall", "bpe-openai")
        warning = _NOT_EXACT.format(error=error, install=install)
        warnings.warn(warning, RuntimeWarning, stacklevel=2)
        return byte_counter

    def count(text: str) -> int:
        try:
            return count_utf8(text)
        except UnicodeEncodeError:
            return count_utf8(text.encode("utf-8", "replace").decode("utf-8"))

    return count


_NOT_EXACT = (
    "bpe-openai cannot be loaded ({error}): tokens are bounded by the UTF-8 bytes of a text, about "
    "four times those of English, and threads are compacted sooner; install a wheel of it for "
    "this platform: {install}"
)


def byte_counter(text: str) -> int:
    """Bound the tokens of a text from above, by its bytes in UTF-8.

    OpenAI's vocabularies are byte-level BPE: a token is one byte or several, never none, so that no
    text has more tokens than bytes.

    Example:
        >>> byte_counter("hello world")
        11
    """
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _bindings() -> ModuleType:
    """Import the compiled part of `bpe_openai` alone.

    Its wrapper class refuses texts over a million characters, although the binding is linear; and
    an import of the package takes half a second, in which it builds every encoding.
    """
    name = "bpe_openai._bindings"
    if name not in sys.modules:
        package = find_spec("bpe_openai")
        search_paths = package.submodule_search_locations if package else None
        spec = PathFinder.find_spec(name, search_paths)
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError(name)
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]


@dataclass(frozen=True, slots=True)
class MessageSize:
    """What one message adds to a request."""

    tokens: int
    """All of it, framing included."""
    thinking: int
    """The part of `tokens` that is reasoning."""
    bytes: int
    """UTF-8 bytes of text and base64 in the body, without framing."""
    media: int
    """Number of images, documents, sounds and films."""
    media_tokens: int = 0
    """The part of `tokens` that is media."""
    slack: int = 0
    """How much less than `media_tokens` the provider may charge, where its price is not exact."""


def measure(message: Message, count: Counter, model: str = "") -> MessageSize:
    """Count one message as it would be sent whole.

    Args:
        message: The message.
        count: Counts its texts.
        model: Whose price media have, see `thalweg.engine.media.cost`.

    Example:
        >>> measure(Message("user", (Text("hello world"),)), exact_counter()).tokens
        6
    """
    count_message = getattr(count, "count_message", None)
    if count_message is not None:
        return _measure_by(count_message, message)
    tokens, thinking, size, media, media_tokens, slack = MESSAGE_OVERHEAD, 0, 0, 0, 0, 0
    for part in message.parts:
        match part:
            case Text(text):
                tokens += count(text)
                size += _utf8_length(text)
            case Thinking(text, signature):
                reasoning_tokens = count(text) if text else count(signature)
                tokens += reasoning_tokens
                thinking += reasoning_tokens
                size += _utf8_length(text) + len(signature)
            case ToolCall():
                tokens += CALL_OVERHEAD + count(part.name) + count(part.arguments)
                size += len(part.name) + _utf8_length(part.arguments)
            case Media():
                from thalweg.engine.media.cost import cost_of  # noqa: PLC0415 (few have any)

                cost = cost_of(part, model)
                media_tokens += cost.tokens
                slack += cost.tokens - cost.least
                size += part.size_bytes
                media += 1
            case Opaque(json=raw):
                tokens += count(raw)
                size += _utf8_length(raw)
    return MessageSize(tokens + media_tokens, thinking, size, media, media_tokens, slack)


def _measure_by(count_message: Callable[[Message], int], message: Message) -> MessageSize:
    """Measure a message by a counter of messages; media and reasoning are what they add to it."""
    size, tokens = measure(message, byte_counter), count_message(message)

    def added_by(kind: type[Media] | type[Thinking]) -> int:
        others = tuple(part for part in message.parts if not isinstance(part, kind))
        if len(others) == len(message.parts):
            return 0
        return max(0, tokens - count_message(replace(message, parts=others, origin=None)))

    return replace(
        size, tokens=tokens, thinking=added_by(Thinking), media_tokens=added_by(Media), slack=0
    )


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a provider's count relates to ours, learned from the usage it reports.

    The bound is one-sided: it follows an undercount at once and forgets it slowly, so that `upper`
    remains above the provider's count. A report far below our count is accepted once several
    requests agree: a proxy that omits cached tokens, or a provider that counts a part, would
    otherwise let a request exceed the window.

    Example:
        >>> seen = Calibration().observe(estimated=10_000, reported=13_000)
        >>> seen.upper(10_000) >= 13_000
        True
    """

    factor: float = 1.0
    """Reported tokens per token of ours; never below `least` nor above 8. Before the first
    observation, the provider's default."""
    observations: int = 0
    least: float = 0.75
    """A report below this share of our count is no count of the request. o200k is among the
    largest vocabularies in use; recorded providers report 1.0 to 1.6 of it."""
    doubted: int = 0
    """How many reports in a row were below `DOUBTFUL` and agreed."""
    doubted_ratio: float = 0.0
    """The largest ratio of those."""

    DOUBTFUL = 0.9
    """A smaller ratio is believed only once `AGREEING` requests in a row have about the same."""
    AGREEING = 5
    SPREAD = 0.05
    """How far ratios may differ that agree."""
    MARGIN = 0.02
    """Added to the factor if one was measured."""
    LEAST = 2_000
    """Tokens of the smallest request that is learned from."""
    DECAY = 0.9
    """How much of the distance to a smaller factor is kept at each observation."""

    def observe(
        self, *, estimated: int, reported: int, slack: int = 0, media: int = 0
    ) -> "Calibration":
        """Fold in one reported count.

        Media are in both counts at their price, so the factor is that of the text: it is the text
        alone that a budget multiplies by it.

        These reports change nothing: missing ones (I23); those of requests so small that what a
        provider adds to every request outweighs its way of counting; those too small to be true;
        and those of requests with media whose price is not exact, unless they exceed the highest
        price, because they show how media count, not how text does.

        Args:
            estimated: Tokens of the request, as we count them.
            reported: Tokens of the request, as the provider does.
            slack: How many fewer it may be, for media whose price is not exact.
            media: Tokens of media in `estimated`, in the provider's tokens.
        """
        estimated, reported = estimated - media, reported - media
        if slack > estimated * self.SPREAD and reported <= self.upper(estimated):
            return self
        if estimated < self.LEAST or reported < estimated * self.least:
            return self
        ratio = min(8.0, reported / estimated)
        if ratio >= self.DOUBTFUL:
            return replace(self._follow(ratio), doubted=0, doubted_ratio=0.0)
        is_agreeing = abs(ratio - self.doubted_ratio) <= self.SPREAD * self.doubted_ratio
        agreeing_count, doubted_ratio = (
            (self.doubted + 1, max(ratio, self.doubted_ratio)) if is_agreeing else (1, ratio)
        )
        updated = self._follow(doubted_ratio) if agreeing_count >= self.AGREEING else self
        return replace(updated, doubted=agreeing_count, doubted_ratio=doubted_ratio)

    def _follow(self, ratio: float) -> "Calibration":
        """Take in a ratio: a larger one at once, a smaller one slowly."""
        if ratio >= self.factor or self.observations == 0:
            factor = ratio
        else:
            factor = ratio + (self.factor - ratio) * self.DECAY
        return replace(self, factor=factor, observations=self.observations + 1)

    @property
    def is_known(self) -> bool:
        """Whether the provider's way of counting is measured or has a default."""
        return self.observations > 0 or self.factor != 1.0

    def upper(self, tokens: int) -> int:
        """Bound a count of ours from above, in the provider's tokens."""
        if not self.is_known:
            return tokens
        return math.ceil(tokens * self.factor * (1 + self.MARGIN))

    def lower(self, tokens: int) -> int:
        """Turn a limit in the provider's tokens into one of ours; the inverse of `upper`."""
        if not self.is_known:
            return tokens
        return int(tokens / (self.factor * (1 + self.MARGIN)))


SECTIONS = ("system", "tools", "memory", "skills", "added", "history", "summary")
"""The sections of a request; `added` is what other middleware adds to it unasked."""


@dataclass(slots=True)
class TokenCounts:
    """Tokens and bytes of a request by section, kept up to date as it changes.

    Adding and removing an item takes constant time, for any length of the thread.
    """

    tokens: dict[str, int]
    bytes: int = 0
    media: int = 0
    media_tokens: int = 0
    """The part of `total` that is media, in the provider's tokens."""
    slack: int = 0
    """How much less than `total` the provider may charge, where prices of media are not exact."""

    @classmethod
    def empty(cls) -> "TokenCounts":
        """Return a ledger with every section at zero."""
        return cls(dict.fromkeys(SECTIONS, 0))

    def add(
        self,
        section: str,
        tokens: int,
        size: int = 0,
        media: int = 0,
        media_tokens: int = 0,
        slack: int = 0,
    ) -> None:
        """Add to a section; negative numbers remove."""
        self.tokens[section] += tokens
        self.bytes += size
        self.media += media
        self.media_tokens += media_tokens
        self.slack += slack

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return sum(self.tokens.values())


def count_json(value: object, count: Counter) -> int:
    """Count a JSON value (a tool's schema) as it is serialised: sorted keys, no spaces."""
    return count(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")))


TextKind = Literal["prose", "code", "data", "cjk"]
SAMPLE_CHARS = 20_000
"""Characters of a thread that determine its kind of text."""
CJK_SHARE = 0.2
"""Share of Chinese, Japanese and Korean characters from which a text is of that kind."""
CODE_SHARE = 0.08
"""Share of digits and brackets from which a text is code, logs or data."""
DATA_SHARE = 0.15
"""Share of digits from which it is data."""
SCRIPTS: tuple[tuple[int, str], ...] = (
    (0, ""), (0x80, "latin"), (0x250, ""), (0x370, "greek"), (0x400, "cyrillic"),
    (0x460, "cyrillic_more"), (0x530, "armenian"), (0x590, "hebrew"), (0x600, "arabic"),
    (0x66E, "arabic_more"), (0x900, "devanagari"), (0x980, "indic"), (0xE00, "thai"),
    (0xE80, "burmese"), (0x10A0, "georgian"), (0x1100, "hangul"), (0x1200, "ethiopic"),
    (0x13A0, ""), (0x1780, "khmer"), (0x1800, ""), (0x1E00, "latin"), (0x1F00, "greek"),
    (0x2000, ""), (0x2E80, "cjk"), (0xAC00, "hangul"), (0xD7B0, ""), (0x1F000, "emoji"),
    (0x20000, "cjk"), (0x32000, ""),
)  # fmt: skip
"""Start of each range of code points, with its name in `scripts`; empty if no row has it."""


@dataclass(frozen=True, slots=True)
class TokenFactors:
    """A tokenizer's tokens per token of ours."""

    models: re.Pattern[str]
    """Matches the names of the models that use it."""
    prose: float
    code: float
    data: float
    cjk: float
    source: str
    dated: date
    digits: Literal["groups", "single"] = "groups"
    """Whether a token is up to three digits, as in o200k, or one."""
    scripts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Tokens per character of a script in addition to o200k's, before the factor."""
    least: float = 0.75
    """The least share of our count that a report may have, see `Calibration.least`."""


FACTORS = tuple(
    TokenFactors(re.compile(models), **row)
    for models, row in read_table(__package__, "token_factors.toml").items()
)
"""The first matching row is used; the last one matches every name."""


@lru_cache(maxsize=256)
def _row_index(model: str) -> int | None:
    return next((k for k, row in enumerate(FACTORS) if row.models.search(model)), None)


def counter_for(count: Counter, model: str) -> Counter:
    """Return the counter of texts for a model: the same one for models of one vocabulary.

    Args:
        count: The counter of the thread. One that the user supplied is returned as it is.
        model: The model's name, which may include a gateway's prefix; empty if there is none.

    Example:
        >>> ours = exact_counter()
        >>> ours("2026, 31415926"), counter_for(ours, "google:gemini-3-pro")("2026, 31415926")
        (7, 14)
        >>> counter_for(ours, "openai:gpt-5.2") is ours
        True
    """
    if count is not exact_counter() or (row_index := _row_index(model)) is None:
        return count
    return _bounded_counter(count, row_index)


@cache
def _bounded_counter(count: Counter, row_index: int) -> Counter:
    row = FACTORS[row_index]
    if not row.scripts and row.digits == "groups":
        return count
    range_starts = [range_start for range_start, _ in SCRIPTS]
    weights = [row.scripts.get(script, 0.0) for _, script in SCRIPTS]
    is_single = row.digits == "single"

    def count_bounded(text: str) -> int:
        tokens = count(text)
        if is_single:
            # o200k has one token for each of these and for a single digit.
            groups = _DIGITS.findall(text)
            tokens += len("".join(groups)) - len(groups)
        if text.isascii():
            return tokens
        extra_tokens = 0.0
        for character, occurrences in Counted(text).items():
            extra_tokens += weights[bisect_right(range_starts, ord(character)) - 1] * occurrences
        # Vocabularies of bytes have at most a token for each.
        max_tokens = max(tokens, len(text.encode("utf-8", "surrogatepass")))
        return min(max_tokens, tokens + math.ceil(extra_tokens))

    return count_bounded


_DIGITS = re.compile("[0-9]{2,3}")


def first_calibration(model: str, texts: Iterable[str] = ()) -> Calibration:
    """Return the calibration of `counter_for` before a provider has reported any usage.

    Args:
        model: Its name, which may include a gateway's prefix.
        texts: The thread's messages, the newest first; `SAMPLE_CHARS` characters of them are
            read.

    Example:
        >>> first_calibration("anthropic:claude-opus-5", ["河流的最深處"]).factor
        1.51
        >>> first_calibration("mine").factor, first_calibration("").is_known
        (1.18, False)
    """
    if (row_index := _row_index(model)) is None:
        return Calibration()
    row = FACTORS[row_index]
    factor: float = getattr(row, text_kind(*_sample(texts)))
    return Calibration(factor, least=row.least)


def _sample(texts: Iterable[str]) -> Iterator[str]:
    chars_left = SAMPLE_CHARS
    for text in texts:
        if chars_left <= 0:
            return
        yield text[:chars_left]
        chars_left -= len(text)


def text_kind(*texts: str) -> TextKind:
    """Return the kind of some texts together, which determines their token ratio.

    Example:
        >>> text_kind("Please look at the invoice", "of May."), text_kind("河流的最深處")
        ('prose', 'cjk')
        >>> text_kind('{"total": 31, "rows": [1, 2]}'), text_kind("2026-05-04, 31.5, 7")
        ('code', 'data')
    """
    length = sum(map(len, texts)) + len(texts) - 1
    if length <= 0:
        return "prose"
    cjk, digits, signs = map(sum, zip(*map(_count_signs, texts), strict=True))
    if cjk >= CJK_SHARE * length:
        return "cjk"
    if digits >= DATA_SHARE * length:
        return "data"
    return "code" if signs >= CODE_SHARE * length else "prose"


@lru_cache(maxsize=256)
def _count_signs(text: str) -> tuple[int, int, int]:
    """Count Chinese, Japanese and Korean characters; digits; digits and brackets."""
    raw = text.encode(errors="surrogatepass")
    cjk = 0 if text.isascii() else len(_CJK.findall(text))
    digits, signs = (len(raw) - len(raw.translate(None, kind)) for kind in (_DIGIT, _SIGN))
    return cjk, digits, signs


_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_DIGIT, _SIGN = b"0123456789", b'0123456789{}()[];=<>_/\\"`|'
