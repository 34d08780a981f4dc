"""Reduce a request to the hard limits, at any cost; remove media that a limit forbids to send.

The steps go from little loss to much and end in a typed error. No step needs a model, and each is
strictly smaller than the previous one, so the sequence ends (I19).

Media of the newest messages are sent, with a notice in the place of those removed, unless a
published limit of the provider, the window, or a refusal forbids it. A limit of one file concerns
that file alone. For a limit of the whole request, the oldest media are removed first, those of the
newest request last.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from thalweg.engine.compaction.plan import (
    LEAST_RECORD,
    plan_fold,
    reread_positions,
    returned_positions,
)
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.rewrites import (
    drop_reasoning,
    edit_fields,
    elide,
    evict,
    has_long_arguments,
)
from thalweg.engine.edits import Edit, Elide, Fold, Reason
from thalweg.engine.entries import Entry, Media, Text
from thalweg.engine.media.facts import MediaKind, facts_of, kind_of, pixels_of
from thalweg.engine.media.table import MediaLimits
from thalweg.engine.prompts import prompt
from thalweg.engine.window.budget import BARE_RECORD_TOKENS
from thalweg.errors import WindowExceededError

FORBIDDEN: Reason = "a limit of the provider forbids it"
"""Reason of these edits."""
_REDUCED_SHARE = 3 / 4
"""Share of a limit to which older media are reduced once it is reached.

So the next messages do not remove one more each, and the cached prefix after it."""


Place = tuple[int, int]
"""Position of a message, and index among its parts that are shown."""


@dataclass(frozen=True, slots=True)
class LiveMedia:
    """Media that the next request would send."""

    entry: Entry
    index: int
    """Index among the parts that are shown."""
    media: Media
    kind: MediaKind

    @property
    def place(self) -> "Place":
        """Its place: the position of the message, and the index in it."""
        return self.entry.position, self.index

    @property
    def file_bytes(self) -> int:
        """Bytes of the file, decoded; 0 if it is not there by value."""
        return len(self.media.data) * 3 // 4


def live_media(context: PlanningContext) -> list[LiveMedia]:
    """List the media of live messages, in the order in which they are removed."""
    latest = context.latest_request
    with_media = [e for e in context.window.entries.values() if e.media]
    entries = sorted(with_media, key=lambda e: (e is latest, e.position))
    return [
        LiveMedia(entry, k, part, kind_of(part))
        for entry in entries
        for k, part in reversed([*enumerate(context.shown(entry).parts)])
        if isinstance(part, Media)
    ]


def plan_forbidden(context: PlanningContext) -> list[Elide]:
    """Plan notices for files that are larger than the provider accepts one."""
    if not context.window.ledger.media:
        return []
    limits = context.budget.limits
    notices = {
        item.place: notice
        for item in live_media(context)
        if (notice := _forbidden_notice(context, limits, item)) is not None
    }
    return [*_notice_edits(context, notices, FORBIDDEN)]


def _forbidden_notice(
    context: PlanningContext, limits: MediaLimits, item: LiveMedia
) -> Text | None:
    """Return the notice for a file that is larger than the provider accepts one."""
    if (forbidding := forbidding_limit(limits, item.media)) is None:
        return None
    limit_text, sendable_part = forbidding
    return Text(
        prompt("file_over_limit").render(
            what=describe_media(item.media),
            limit=_published_limit(limits, limit_text),
            part=sendable_part,
            pointer=context.pointer(item.entry.position),
        )
    )


def forbidding_limit(limits: MediaLimits, media: Media) -> tuple[str, str] | None:
    """Return a provider's limit for one file, and the part of this file that can be sent.

    Returns:
        `None` if it accepts the file.
    """
    limit_text, sendable_part, kind = "", "", kind_of(media)
    file_bytes = len(media.data) * 3 // 4
    match kind:
        case "image":
            size = pixels_of(media)
            patches = ceil(size[0] / 32) * ceil(size[1] / 32) if size else 0
            if limits.image_bytes and len(media.data) > limits.image_bytes:
                limit_text = f"an image of at most {limits.image_bytes:,} bytes in base64"
            elif limits.image_edge and size and max(size) > limits.image_edge:
                limit_text = f"an image of at most {limits.image_edge:,} pixels an edge"
            elif limits.image_patches and patches > limits.image_patches:
                limit_text = f"an image of at most {limits.image_patches:,} squares of 32 pixels"
            sendable_part = "a smaller copy, or a detail"
        case "pdf":
            pages = facts_of(media).pages or 0
            maximum = min(filter(None, (limits.pages, limits.document_pages)), default=0)
            if maximum and pages > maximum:
                limit_text = f"at most {maximum:,} pages of a document"
            elif limits.document_bytes and file_bytes > limits.document_bytes:
                limit_text = f"a document of at most {limits.document_bytes:,} bytes"
            sendable_part = "a range of its pages, or its text"
    maximum = limits.file_bytes or 0
    if not limit_text and kind != "image" and 0 < maximum < file_bytes:
        limit_text, sendable_part = (
            f"files of at most {maximum:,} bytes",
            sendable_part or "an extract, or its text",
        )
    return (limit_text, sendable_part) if limit_text else None


def _published_limit(limits: MediaLimits, limit_text: str) -> str:
    return f"{limits.provider} accepts {limit_text} ({limits.source})"


def describe_media(media: Media) -> str:
    """Return the type of a part, and its pages, pixels or bytes.

    Example:
        >>> describe_media(Media("audio/wav", data="UklGRg=="))
        'audio/wav, 6 bytes'
    """
    facts, size = facts_of(media), pixels_of(media)
    parts = [media.mime or "media"]
    if facts.pages:
        parts.append(f"{facts.pages:,} pages")
    if facts.seconds:
        parts.append(f"{facts.seconds:,.0f} seconds")
    if size:
        parts.append(f"{size[0]:,} x {size[1]:,} pixels")
    if media.data:
        parts.append(f"{len(media.data) * 3 // 4:,} bytes")
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class _RequestLimit:
    """A limit of the whole request."""

    weight: Callable[[LiveMedia], int]
    most: int
    figure: str
    is_published: bool = True
    fixed: int = 0
    """What counts besides media."""


def exceeds_media_limits(context: PlanningContext) -> bool:
    """Return whether the media of the request are more than is accepted."""
    if not context.window.ledger.media:
        return False
    live = live_media(context)
    return any(_total_weight(rule, live) > rule.most for rule in _request_limits(context, live))


def plan_within_limits(context: PlanningContext) -> list[Elide]:
    """Plan notices for the media that are too many, or too large, together."""
    live_items, notices = live_media(context), dict[Place, Text]()
    new_positions = {e.position for e in context.window.open_entries}
    latest = context.latest_request
    for rule in _request_limits(context, live_items):
        remaining = _total_weight(rule, [item for item in live_items if item.place not in notices])
        is_over = remaining > rule.most
        for item in live_items if is_over else ():
            is_new = item.entry.position in new_positions or item.entry is latest
            if remaining <= (rule.most if is_new else rule.most * _REDUCED_SHARE):
                break
            if item.place in notices or not (weight := rule.weight(item)):
                continue
            remaining -= weight
            notices[item.place] = _over_limit_notice(context, rule, item)
    return [*_notice_edits(context, notices, FORBIDDEN)]


def _total_weight(rule: _RequestLimit, live: list[LiveMedia]) -> int:
    return rule.fixed + sum(map(rule.weight, live))


def _request_limits(
    context: PlanningContext, live_items: list[LiveMedia]
) -> Iterator[_RequestLimit]:
    if not live_items:
        return
    limits, budget = context.budget.limits, context.budget
    bytes_of_media = sum(item.media.size_bytes for item in live_items)
    other_bytes = context.body_bytes - bytes_of_media
    images = sum(item.kind == "image" for item in live_items)
    if limits.many_images and limits.many_edge and images > limits.many_images:
        edge = limits.many_edge
        limit_text = (
            f"images of at most {edge:,} pixels an edge if there are over {limits.many_images}"
        )
        yield _RequestLimit(lambda item: _counts_as_wide(item, edge), 0, limit_text)
    if limits.images:
        limit_text = f"at most {limits.images:,} images in a request"
        yield _RequestLimit(lambda item: item.kind == "image", limits.images, limit_text)
    if limits.pages:
        limit_text = f"at most {limits.pages:,} pages of documents in a request"
        yield _RequestLimit(_page_count, limits.pages, limit_text)
    if limits.file_bytes:
        limit_text = f"files of at most {limits.file_bytes:,} bytes together"
        yield _RequestLimit(_file_bytes, limits.file_bytes, limit_text)
    is_published = budget.max_bytes == limits.request_bytes
    limit_text = f"a request of at most {budget.max_bytes:,} bytes"
    yield _RequestLimit(_body_bytes, budget.max_bytes, limit_text, is_published, other_bytes)
    limit_text = f"at most {budget.max_media:,} media in a request"
    yield _RequestLimit(lambda _: 1, budget.max_media, limit_text, is_published=False)


def _counts_as_wide(item: LiveMedia, edge: int) -> int:
    size = pixels_of(item.media) if item.kind == "image" else None
    return int(size is not None and max(size) > edge)


def _page_count(item: LiveMedia) -> int:
    return (facts_of(item.media).pages or 0) if item.kind == "pdf" else 0


def _file_bytes(item: LiveMedia) -> int:
    return 0 if item.kind == "image" else item.file_bytes


def _body_bytes(item: LiveMedia) -> int:
    return item.media.size_bytes


def _over_limit_notice(context: PlanningContext, rule: _RequestLimit, item: LiveMedia) -> Text:
    limits = context.budget.limits
    accepted = f"the model accepts {rule.figure}"
    limit = _published_limit(limits, rule.figure) if rule.is_published else accepted
    pointer = context.pointer(item.entry.position)
    what = describe_media(item.media)
    return Text(prompt("media_over_limit").render(what=what, limit=limit, pointer=pointer))


def plan_media_removal(context: PlanningContext, reason: Reason) -> Iterator[Elide]:
    """Yield notices for media that do not fit the window, one by one."""
    limit = f"the window has room for {context.budget.limit:,} tokens"
    for item in live_media(context):
        pointer = context.pointer(item.entry.position)
        what = describe_media(item.media)
        notice = prompt("media_over_limit").render(what=what, limit=limit, pointer=pointer)
        yield from _notice_edits(context, {item.place: Text(notice)}, reason)


def _notice_edits(
    context: PlanningContext, notices: dict[Place, Text], reason: Reason
) -> Iterator[Elide]:
    """Yield an edit for each message of which some media are replaced."""
    for position in sorted({position for position, _ in notices}):
        entry = context.window.entries[position]
        shown = enumerate(context.shown(entry).parts)
        parts = tuple(notices.get((position, k), part) for k, part in shown)
        yield Elide(**edit_fields(context, entry, parts, reason))


REASON: Reason = "the request would not fit"


def exceeds_limit(context: PlanningContext) -> bool:
    """Return whether the next request would exceed a limit: tokens, bytes or media."""
    budget = context.budget
    return (
        context.tokens_to_fit > budget.limit
        or context.body_bytes > budget.max_bytes
        or exceeds_media_limits(context)
    )


def reduce_to_limit(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Yield edits until the request fits.

    Raises:
        WindowExceededError: All possible reductions were made, and it does not fit.
    """
    if not exceeds_limit(context):
        return
    for step in (_within_limits, _smaller_tails, _without_inserts, _rewrites, _smaller_records):
        for edits in step(context):
            yield edits
            if not exceeds_limit(context):
                return
    raise _window_exceeded(context)


def _within_limits(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Replace media that are too many or too large together; those of older messages first."""
    if edits := plan_within_limits(context):
        yield edits


def _smaller_tails(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Compact, keeping a smaller and smaller tail.

    Content that the model requested again stays: it may need all of it together (I56). The
    structured summary shrinks for it to a quarter; and to its reference, the requests and the
    newest notes, if the model reads again what this quarter has displaced.
    """
    window, budget, fixed = context.window, context.budget, context.fixed
    tail_tokens, record_tokens = budget.tail(fixed), budget.record(fixed)
    skills_tokens = budget.skills(fixed)
    latest = context.latest_request
    free = budget.limit - fixed - (latest.tokens if latest else 0)
    room = free - record_tokens // LEAST_RECORD
    newest = window.tokens_from(window.cut_for_tail(1))
    returned = reread_positions(context, room) or returned_positions(
        context, min(budget.limit * 3 // 4, room - newest), ()
    )
    whole = reread_positions(context, free - BARE_RECORD_TOKENS, reads=2)

    def plan(divisor: int, positions: set[int], tokens: int, widest: int | None) -> Fold | None:
        return plan_fold(
            context,
            tail_tokens=tail_tokens // divisor,
            record_tokens=tokens,
            reason=REASON,
            widest_tokens=widest,
            skills_tokens=skills_tokens // divisor,
            returned=positions,
        )

    divisors = (1, 2, 4, max(1, tail_tokens))
    for divisor in divisors if whole > returned else ():
        fold = plan(divisor, whole, 0, record_tokens // LEAST_RECORD)
        if fold is not None and 0 <= context.tokens_to_fit - fold.freed <= budget.limit:
            yield (fold, *drop_reasoning(context, fold.last))
            return
    for divisor in divisors:
        fold = plan(divisor, returned, record_tokens, None)
        if fold is not None and fold.freed > 0:
            yield (fold, *drop_reasoning(context, fold.last))


def _without_inserts(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Remove the inserts between messages: they are not part of the thread, so nothing is lost."""
    if context.window.inserts:
        context.window.set_inserts({})
        yield ()


def _rewrites(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Shorten the remaining messages one by one: results, arguments, texts, requests, media."""
    for step in (_shorten_results, _elide_arguments, _shorten_texts, _shorten_requests):
        for tokens in (context.budget.preview, context.budget.preview // 3):
            yield from _sufficient_batches(context, step(context, tokens))
    for edit in plan_media_removal(context, REASON):
        yield (edit,)


def _sufficient_batches(
    context: PlanningContext, edits: Iterator[Edit]
) -> Iterator[Sequence[Edit]]:
    """Yield batches of edits that free the excess tokens: each batch is laid out once."""
    batch: list[Edit] = []
    excess_tokens = context.tokens_to_fit - context.budget.limit
    for edit in edits:
        batch.append(edit)
        excess_tokens -= edit.freed
        if excess_tokens <= 0:
            yield batch
            batch = []
    if batch:
        yield batch


def _smaller_records(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    record_tokens = context.budget.record(context.fixed)
    for divisor in (2, 4, 8):
        fold = plan_fold(
            context,
            tail_tokens=1,
            record_tokens=record_tokens // divisor,
            reason=REASON,
            skills_tokens=0,
        )
        if fold is not None and fold.freed > 0:
            yield (fold,)


def _largest_first(context: PlanningContext, *roles: str) -> list[Entry]:
    shown = {i.position: i.tokens for i in context.window.items}
    entries = [e for e in context.window.entries.values() if e.message.role in roles]
    return sorted(entries, key=lambda e: (-shown.get(e.position, 0), e.position))


def _evictions(
    context: PlanningContext, entries: Sequence[Entry], max_tokens: int
) -> Iterator[Edit]:
    for entry in entries:
        text_tokens = context.shown_tokens(entry) - context.shown_media_tokens(entry)
        if text_tokens > max_tokens * 3 // 2:
            edit = evict(context, entry, max_tokens, REASON, keeps_media=True)
            if edit.freed > 0:
                yield edit


def _shorten_results(context: PlanningContext, max_tokens: int) -> Iterator[Edit]:
    return _evictions(context, _largest_first(context, "tool"), max_tokens)


def _elide_arguments(context: PlanningContext, max_tokens: int) -> Iterator[Edit]:
    for entry in _largest_first(context, "assistant"):
        if has_long_arguments(context.shown(entry)) and context.shown_tokens(entry) > max_tokens:
            edit = elide(context, entry, REASON)
            if edit.freed > 0:
                yield edit


def _shorten_texts(context: PlanningContext, max_tokens: int) -> Iterator[Edit]:
    entries = [
        e for e in _largest_first(context, "assistant", "user", "system") if not e.is_request
    ]
    yield from _evictions(context, entries, max_tokens)


def _shorten_requests(context: PlanningContext, max_tokens: int) -> Iterator[Edit]:
    entries = [e for e in _largest_first(context, "user") if e.is_request]
    yield from _evictions(context, entries, max_tokens)


def _window_exceeded(context: PlanningContext) -> WindowExceededError:
    sections = {k: v for k, v in context.window.ledger.tokens.items() if v}
    largest = sorted(sections.items(), key=lambda pair: -pair[1])
    window, budget = context.window, context.budget
    needed, limit, unit = window.tokens, budget.limit, "tokens"
    if needed <= limit:
        needed, limit, unit = window.ledger.bytes, budget.max_bytes, "bytes"
    if needed <= limit:
        needed, limit, unit = window.ledger.media, budget.max_media, "images and documents"
    return WindowExceededError(
        needed=needed,
        window=limit,
        irreducible=tuple(f"{name} {tokens} tokens" for name, tokens in largest),
        unit=unit,
    )
