"""Opening a thread: an engine that stands where the journal says, over the log's messages."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from thalweg.archive import Archive, Span, ThreadKey
from thalweg.context.engine import Engine
from thalweg.context.policy import RentOrBuy
from thalweg.context.standing import Standing
from thalweg.entries import Message
from thalweg.threads.journal import THIS, Page, page_from_json, read_page, standing_at
from thalweg.threads.line import Line
from thalweg.threads.session import Held, Session, common
from thalweg.tokens import Calibration, measure

MakeEngine = Callable[[Callable[[int, int], str]], Engine]
"""Makes the engine of a thread; it is given the way to name a span."""


def open_session(
    archive: Archive,
    key: ThreadKey,
    mark: int | None,
    said: Sequence[Message],
    make_engine: MakeEngine,
) -> Session:
    """Open a thread as a state left it.

    What a person took out of the state or changed there leaves the thread's line; where it
    was folded already, the thread goes on from before that fold. What a person did to the
    thread in the archive since (a rewind, the undoing of a fold) holds.

    Args:
        archive: Where the thread is.
        key: The thread.
        mark: Number of the turn that the state was left in; `None` of a new one.
        said: The messages of the state, oldest first.
        make_engine: Makes a new engine.
    """
    number, page = mark, _BLANK if mark is None else read_page(archive, key, mark)
    held = list(_read(archive, key, page.held))
    said_again = common([message for _, message in held], said)
    dropped = [position for position, _ in held[said_again:]]
    number, page = _as_a_person_left_it(archive, key, number, page)
    line = page.line.without(dropped)
    number, page, standing = _standing_before(archive, key, number, page, dropped)
    engine = make_engine(lambda first, last: archive.handle(key, Span(first, last)))
    engine.resume(standing, live_messages(archive, key, line, standing))
    engine.turn = page.turn
    if isinstance(engine.policy, RentOrBuy):
        engine.policy.rent = page.rent
    return Session(
        archive=archive,
        key=key,
        engine=engine,
        page=page,
        number=number,
        length=page.length,
        line=line,
        held=[
            Held(position, message, measure(message, engine.count).tokens)
            for position, message in held[:said_again]
        ],
        calibrations={m: Calibration(factor, n) for m, (factor, n) in page.calibration.items()},
    )


_BLANK = Page(kind="call", at=0.0, length=0)


def live_messages(
    archive: Archive, key: ThreadKey, line: Line, standing: Standing
) -> Iterator[tuple[int, Message]]:
    """Read the messages of a line that are not folded, with their positions, oldest first."""
    fold = standing.fold
    if fold is None:
        yield from _read(archive, key, line)
        return
    early = sorted({*range(standing.systems), *fold.kept})
    yield from _read(archive, key, Line.of(p for p in early if p in line))
    yield from _read(archive, key, line.after(fold.last))


def _read(archive: Archive, key: ThreadKey, line: Line) -> Iterator[tuple[int, Message]]:
    for span in line.spans:
        yield from enumerate(archive.messages(key, span.first, span.last), span.first)


def _as_a_person_left_it(
    archive: Archive, key: ThreadKey, number: int | None, page: Page
) -> tuple[int | None, Page]:
    """Find the newest turn in which a person rewound the thread, if one did since."""
    first = 0 if number is None else number + 1
    later = [page_from_json(text) for text in archive.turns(key, first)]
    by_hand = [n for n, one in enumerate(later, first) if one.kind in {"undo", "rewind"}]
    return (by_hand[-1], later[by_hand[-1] - first]) if by_hand else (number, page)


def _standing_before(
    archive: Archive, key: ThreadKey, number: int | None, page: Page, dropped: Sequence[int]
) -> tuple[int | None, Page, Standing]:
    """Go back to the last turn whose fold holds nothing of what was dropped."""
    while number is not None:
        standing = standing_at(archive, key, number, page)
        if standing.fold is None or not dropped or standing.fold.last < min(dropped):
            return number, page, standing
        at_fold = number if page.base in {THIS, None} else page.base
        number = (page if at_fold == number else read_page(archive, key, at_fold)).parent
        page = page if number is None else read_page(archive, key, number)
    return None, replace(page, base=None, parent=None), Standing()
