"""Media that a limit forbids to send: their removal from a request, with a notice in their place.

Media of the newest messages are sent unless a published limit of the provider, the window, or a
refusal forbids it. A limit of one file concerns that file alone. For a limit of the whole request,
the oldest media are removed first, those of the newest request last.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil

from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.rewrites import showing
from thalweg.engine.edits import Elide, Reason
from thalweg.engine.entries import Entry, Media, Text
from thalweg.engine.media.facts import MediaKind, facts_of, kind_of, pixels_of
from thalweg.engine.media.table import MediaLimits
from thalweg.engine.prompts import prompt

FORBIDDEN: Reason = "a limit of the provider forbids it"
"""Reason of these edits."""
_KEPT = 3 / 4
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


def live_media(scene: PlanningContext) -> list[LiveMedia]:
    """List the media of live messages, in the order in which they are removed."""
    if not scene.window.ledger.media:
        return []
    latest = scene.latest_request
    with_media = [e for e in scene.window.entries.values() if e.media]
    entries = sorted(with_media, key=lambda e: (e is latest, e.position))
    return [
        LiveMedia(entry, k, part, kind_of(part))
        for entry in entries
        for k, part in reversed([*enumerate(scene.shown(entry).parts)])
        if isinstance(part, Media)
    ]


def plan_forbidden(scene: PlanningContext) -> list[Elide]:
    """Plan notices for files that are larger than the provider accepts one."""
    limits = scene.budget.limits
    forbidden = {
        one.place: notice
        for one in live_media(scene)
        if (notice := _forbids(scene, limits, one)) is not None
    }
    return [*_noticed(scene, forbidden, FORBIDDEN)]


def _forbids(scene: PlanningContext, limits: MediaLimits, one: LiveMedia) -> Text | None:
    """Return the notice for a file that is larger than the provider accepts one."""
    if (found := forbidding_limit(limits, one.media)) is None:
        return None
    figure, part = found
    return Text(
        prompt("file_over_limit").render(
            what=described(one.media),
            limit=_published(limits, figure),
            part=part,
            pointer=scene.pointer(one.entry.position),
        )
    )


def forbidding_limit(limits: MediaLimits, media: Media) -> tuple[str, str] | None:
    """Return a provider's limit for one file, and the part of this file that can be sent.

    Returns:
        `None` if it accepts the file.
    """
    figure, part, kind = "", "", kind_of(media)
    file_bytes = len(media.data) * 3 // 4
    match kind:
        case "image":
            size = pixels_of(media)
            patches = ceil(size[0] / 32) * ceil(size[1] / 32) if size else 0
            if limits.image_bytes and len(media.data) > limits.image_bytes:
                figure = f"an image of at most {limits.image_bytes:,} bytes in base64"
            elif limits.image_edge and size and max(size) > limits.image_edge:
                figure = f"an image of at most {limits.image_edge:,} pixels an edge"
            elif limits.image_patches and patches > limits.image_patches:
                figure = f"an image of at most {limits.image_patches:,} squares of 32 pixels"
            part = "a smaller copy, or a detail"
        case "pdf":
            pages = facts_of(media).pages or 0
            most = min(filter(None, (limits.pages, limits.document_pages)), default=0)
            if most and pages > most:
                figure = f"at most {most:,} pages of a document"
            elif limits.document_bytes and file_bytes > limits.document_bytes:
                figure = f"a document of at most {limits.document_bytes:,} bytes"
            part = "a range of its pages, or its text"
    most = limits.file_bytes or 0
    if not figure and kind != "image" and 0 < most < file_bytes:
        figure, part = f"files of at most {most:,} bytes", part or "an extract, or its text"
    return (figure, part) if figure else None


def _published(limits: MediaLimits, figure: str) -> str:
    return f"{limits.provider} accepts {figure} ({limits.source})"


def described(media: Media) -> str:
    """Return the type of a part, and its pages, pixels or bytes.

    Example:
        >>> described(Media("audio/wav", data="UklGRg=="))
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
class _Rule:
    """A limit of the whole request."""

    weight: Callable[[LiveMedia], int]
    most: int
    figure: str
    is_published: bool = True
    fixed: int = 0
    """What counts besides media."""


def exceeds(scene: PlanningContext) -> bool:
    """Return whether the media of the request are more than is accepted."""
    live = live_media(scene)
    return any(_total(rule, live) > rule.most for rule in _rules(scene, live))


def plan_within_limits(scene: PlanningContext) -> list[Elide]:
    """Plan notices for the media that are too many, or too large, together."""
    live, gone = live_media(scene), dict[Place, Text]()
    fresh = {e.position for e in scene.window.open_entries}
    latest = scene.latest_request
    for rule in _rules(scene, live):
        left = _total(rule, [one for one in live if one.place not in gone])
        is_over = left > rule.most
        for one in live if is_over else ():
            is_new = one.entry.position in fresh or one.entry is latest
            if left <= (rule.most if is_new else rule.most * _KEPT):
                break
            if one.place in gone or not (weight := rule.weight(one)):
                continue
            left -= weight
            gone[one.place] = _over(scene, rule, one)
    return [*_noticed(scene, gone, FORBIDDEN)]


def _total(rule: _Rule, live: list[LiveMedia]) -> int:
    return rule.fixed + sum(map(rule.weight, live))


def _rules(scene: PlanningContext, live: list[LiveMedia]) -> Iterator[_Rule]:
    if not live:
        return
    limits, budget = scene.budget.limits, scene.budget
    bytes_of_media = sum(one.media.size_bytes for one in live)
    rest = scene.body_bytes - bytes_of_media
    images = sum(one.kind == "image" for one in live)
    if limits.many_images and limits.many_edge and images > limits.many_images:
        edge = limits.many_edge
        figure = f"images of at most {edge:,} pixels an edge if there are over {limits.many_images}"
        yield _Rule(lambda one: _is_wider(one, edge), 0, figure)
    if limits.images:
        figure = f"at most {limits.images:,} images in a request"
        yield _Rule(lambda one: one.kind == "image", limits.images, figure)
    if limits.pages:
        figure = f"at most {limits.pages:,} pages of documents in a request"
        yield _Rule(_pages, limits.pages, figure)
    if limits.file_bytes:
        figure = f"files of at most {limits.file_bytes:,} bytes together"
        yield _Rule(_file_bytes, limits.file_bytes, figure)
    is_published = budget.max_bytes == limits.request_bytes
    figure = f"a request of at most {budget.max_bytes:,} bytes"
    yield _Rule(_body_bytes, budget.max_bytes, figure, is_published, rest)
    figure = f"at most {budget.max_media:,} media in a request"
    yield _Rule(lambda _: 1, budget.max_media, figure, is_published=False)


def _is_wider(one: LiveMedia, edge: int) -> int:
    size = pixels_of(one.media) if one.kind == "image" else None
    return int(size is not None and max(size) > edge)


def _pages(one: LiveMedia) -> int:
    return (facts_of(one.media).pages or 0) if one.kind == "pdf" else 0


def _file_bytes(one: LiveMedia) -> int:
    return 0 if one.kind == "image" else one.file_bytes


def _body_bytes(one: LiveMedia) -> int:
    return one.media.size_bytes


def _over(scene: PlanningContext, rule: _Rule, one: LiveMedia) -> Text:
    limits = scene.budget.limits
    accepted = f"the model accepts {rule.figure}"
    limit = _published(limits, rule.figure) if rule.is_published else accepted
    pointer = scene.pointer(one.entry.position)
    what = described(one.media)
    return Text(prompt("media_over_limit").render(what=what, limit=limit, pointer=pointer))


def plan_smaller(scene: PlanningContext, reason: Reason) -> Iterator[Elide]:
    """Yield notices for media that do not fit the window, one by one."""
    limit = f"the window has room for {scene.budget.limit:,} tokens"
    for one in live_media(scene):
        pointer = scene.pointer(one.entry.position)
        what = described(one.media)
        notice = prompt("media_over_limit").render(what=what, limit=limit, pointer=pointer)
        yield from _noticed(scene, {one.place: Text(notice)}, reason)


def _noticed(scene: PlanningContext, notices: dict[Place, Text], reason: Reason) -> Iterator[Elide]:
    """Yield an edit for each message of which some media are replaced."""
    for position in sorted({position for position, _ in notices}):
        entry = scene.window.entries[position]
        shown = enumerate(scene.shown(entry).parts)
        parts = tuple(notices.get((position, k), part) for k, part in shown)
        yield Elide(**showing(scene, entry, parts, reason))
