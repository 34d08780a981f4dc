"""Search in one thread, or in many at once with the index of each.

Excerpts of the best passages are packed into a token budget.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import accumulate, chain, combinations, groupby, islice

from thalweg.archive.base import Passage, Span, ThreadPassage, render_passages
from thalweg.archive.search.excerpts import NARROWEST, segments, widen
from thalweg.archive.search.index import PASSAGE_BITS, Hits, PassageRow, find, rows_of, written_by
from thalweg.archive.search.question import SearchQuery
from thalweg.archive.search.ranking import (
    SHORTLIST,
    PassageCandidate,
    PassageWeights,
    rank,
    shortlist,
    surroundings,
)
from thalweg.archive.search.unindexed import scan
from thalweg.archive.table_rows import ArchiveRows
from thalweg.engine.tokens import Counter
from thalweg.engine.transcript import clip
from thalweg.engine.words import Weights, rarity

ABOUT_CHARS = 80
"""Most characters of the text about a message in a hit."""
FIRST_HITS = 5
"""The first hits: of different messages, with equal room."""
WIDTHS = ((2, 700), (1_000, NARROWEST))
"""Number of hits by their width in characters: the better, the wider."""
WRITTEN = 0.1
"""Added to the score of a passage that a person or the agent wrote: it answers more often than a
result of a tool with as many words of the query, which mostly is a file."""
EXCHANGES_SHARE = 0.6
"""Of the tokens of an answer, for its first hits with the messages around them. The rest is for
excerpts of the next best passages, in these exchanges or in others."""
EXCHANGE_SHARES = (0.3, 0.2, 0.17, 0.17, 0.16)
"""Of those tokens, by hit."""
EXCHANGE_MESSAGES = 5
"""Messages before and after a hit that are one exchange with it."""
EXCHANGE_PASSAGES = 60
"""Passages before and after a hit of which the others of its exchange are chosen."""
EXCHANGES = 12
"""Exchanges that are weighed by their passages; the best are shown."""
EVIDENCE = 0.2
"""Share of the weight of its best passage in the score of an exchange."""
FUSION = 5
"""Added to the place of an exchange for a phrasing: the more, the less the first ones count."""
CONCLUSION = 0.1
"""Added to the score of an exchange whose hit is a text of the agent."""
LEAST_TOKENS = 24
"""Fewer remaining tokens than this are not filled."""
PLACE_TOKENS = 4
"""Of a passage near a hit, for its position and speaker: adjacent passages share them."""
MOST_CHARS_PER_TOKEN = 8
"""Longer passages are left out without counting their tokens."""
_LINE_NUMBER = re.compile(r"\s*\d+\s*[→|:\t]\s*")
MAX_HITS = 3_000
"""Passages that one look into the index returns, newest first."""
MAX_LISTED = 4_000
"""Passages with the rarest words, all of which are read."""
MAX_RUNS = 16
"""Groups of consecutive threads that are searched by themselves."""
MAX_GROUPS = 3
"""Groups of the other words that are searched for together."""
PER_THREAD = 8
"""Passages of a thread that are read to find its best."""
LEAST_SHARE = 0.7
"""Least share of the words, by weight, that a thread has of those of the thread with most."""
MAX_HEAVIEST = 4 * SHORTLIST
"""Passages whose neighbours are read: those whose own words weigh most."""
UNBOUND = "0"
"""Value of `ArchiveRows.bound` if a statement may read all threads of an owner."""


def pack_excerpts(
    candidates: Sequence[PassageCandidate],
    rows: Mapping[int, PassageRow],
    max_tokens: int,
    count: Counter,
    shown: Sequence[tuple[int, Passage]] = (),
) -> list[tuple[int, Passage]]:
    """Return excerpts of passages, the best first, as many different ones as fit, with row ids.

    Args:
        candidates: Ranked, the best first.
        rows: The candidates' passages and those around them.
        max_tokens: Bound on the excerpts.
        count: Counts them.
        shown: Passages that the answer has already, with row ids: no excerpt repeats them.
    """
    chosen: list[tuple[int, Passage]] = []
    seen_lines: set[str] = set()
    messages: dict[tuple[int, int], list[Passage]] = {}
    for row_id, passage in shown:
        messages.setdefault((row_id >> PASSAGE_BITS, passage.position), []).append(passage)
        seen_lines |= _unnumbered_lines(passage.text)
    tokens_left = max_tokens
    for candidate in _of_different_messages(candidates):
        if tokens_left < LEAST_TOKENS:
            break
        if not _unnumbered_lines(_excerpt(candidate, rows, 0).text) - seen_lines:
            continue
        row = candidate.row
        of_message = messages.setdefault((row.id >> PASSAGE_BITS, row.position), [])
        width = next(chars for max_hits, chars in WIDTHS if len(chosen) + len(shown) < max_hits)
        for chars in (width, NARROWEST, 0):
            passage = _excerpt(candidate, rows, chars, with_about=not of_message)
            cost = count(render_passages([passage]) + "\n\n") + 1
            if cost <= tokens_left and not any(_overlap(passage, one) for one in of_message):
                break
        else:
            continue
        tokens_left -= cost
        seen_lines |= _unnumbered_lines(passage.text)
        of_message.append(passage)
        chosen.append((row.id, passage))
    while chosen and count(render_passages([passage for _, passage in chosen])) > max_tokens:
        chosen.pop()
    return chosen


def _overlap(one: Passage, other: Passage) -> bool:
    """Return whether two passages of one message have characters in common."""
    return one.start < other.start + len(other.text) and other.start < one.start + len(one.text)


def by_score(candidates: Iterable[PassageCandidate]) -> list[PassageCandidate]:
    """Sort candidates for an answer of excerpts, the best first."""
    return sorted(
        candidates,
        key=lambda one: one.features.score + WRITTEN * bool(written_by(one.row.speaker)),
        reverse=True,
    )


def _of_different_messages(candidates: Sequence[PassageCandidate]) -> list[PassageCandidate]:
    """Return candidates with the best of different messages first, then the others in order."""
    best = {(one.row.id >> PASSAGE_BITS, one.row.position): one for one in reversed(candidates)}
    first = sorted(best.values(), key=candidates.index)[:FIRST_HITS]
    return [*first, *(one for one in candidates if one not in first)]


def _unnumbered_lines(text: str) -> set[str]:
    """Return lines without their numbers, to recognize a file that was read twice."""
    lines = (text[start:end] for start, end in segments(text))
    return {_LINE_NUMBER.sub("", line, count=1).strip() for line in lines} - {""}


def _excerpt(
    candidate: PassageCandidate,
    rows: Mapping[int, PassageRow],
    width: int,
    *,
    with_about: bool = True,
) -> Passage:
    """Return the lines with the words, and adjacent ones, across passages."""
    row = candidate.row
    before, after = rows.get(row.id - 1), rows.get(row.id + 1)
    text, start, first, last = row.text, row.start, candidate.first, candidate.last
    if after is not None and after.start == row.start + len(row.text):
        text += after.text
    if before is not None and 0 <= before.start == row.start - len(before.text):
        text, start = before.text + text, before.start
        shift = len(segments(before.text))
        first, last = first + shift, last + shift
    lines = [
        (a + piece.start - start, b + piece.start - start)
        for piece in (before, row, after)
        if piece is not None
        and start <= piece.start < start + len(text)
        and piece.position == row.position
        for a, b in segments(piece.text)
    ]
    begin, end = widen(lines, first, last, width)
    shown = text[begin:end]
    begin += len(shown) - len(shown.lstrip("\n"))
    about = clip(rows[row.about].text, ABOUT_CHARS) if row.about in rows and with_about else ""
    return Passage(row.position, row.speaker, shown.strip("\n"), start + begin, about)


def search_thread(
    db: ArchiveRows,
    thread: int,
    question: SearchQuery,
    within: Sequence[Span] | None,
    *,
    max_tokens: int,
    count: Counter,
) -> list[Passage]:
    """Return passages of one thread, best first.

    Args:
        db: In a transaction.
        thread: The thread's number. Messages without an index are scanned.
        question: The query.
        within: Return passages of these spans only; `None` means any.
        max_tokens: Bound on the excerpts.
        count: Counts them.
    """
    if not question.words:
        return []
    statement = "SELECT passages, indexed, length FROM archive_thread WHERE id = ?"
    total, indexed, length = db.row(statement, (thread,))
    hits, scanned = find(db, thread, total, question.words, within), dict[int, PassageRow]()
    if indexed < length:
        unindexed = Span(indexed, length - 1)
        more, scanned = scan(db, thread, total, unindexed, question, within)
        counts = tuple(map(sum, zip(hits.counts, more.counts, strict=True)))
        hits = Hits(hits.rows | more.rows, counts, total + more.total)
    rows = rows_of(db, shortlist(question, hits))
    rows |= rows_of(db, surroundings(rows.values(), hits)) | scanned
    ranked = by_score(rank(question, hits, rows, within))
    chosen = pack_excerpts(ranked, rows, max_tokens, count)
    return [passage for _, passage in chosen]


def search_threads(
    db: ArchiveRows,
    threads: Mapping[int, tuple[str, int]],
    questions: Sequence[SearchQuery],
    *,
    max_tokens: int,
    count: Counter,
    others: Collection[int] = (),
    exchanges: bool = False,
) -> list[ThreadPassage]:
    """Return passages of several threads, best first.

    Args:
        db: In a transaction.
        threads: By number: the name and the number of indexed passages; the index is complete.
        questions: The phrasings of a query, without `exchanges` one.
        max_tokens: Bound on the excerpts.
        count: Counts them.
        others: Threads of the owner that are not searched.
        exchanges: Return hits of different exchanges, the first with passages around each.
    """
    lists: list[list[_RankedExchange]] = []
    rankings: list[list[PassageCandidate]] = []
    rows: dict[int, PassageRow] = {}
    for question in questions:
        hits = _find_in_threads(db, threads, question, others)
        read = _read_rows(db, shortlist(question, _heaviest(question, hits)))
        rows |= read | _read_rows(db, surroundings(read.values(), hits))
        ranked = rank(question, hits, rows)
        rankings.append(by_score(ranked))
        if exchanges:
            lists.append(_weigh_exchanges(db, ranked, question, hits, rows))
    found = _show_exchanges(_fused(lists), rows, int(max_tokens * EXCHANGES_SHARE), count)
    shown = [(row.id, passage) for row, passages in found for passage in passages]
    max_tokens -= _tokens([passage for _, passage in shown], count)
    candidates = _fused_candidates(rankings)
    for row_id, passage in pack_excerpts(candidates, rows, max_tokens, count, shown):
        row = rows[row_id]
        near = (passages for one, passages in found if exchanges and _is_near(row, one))
        if (passages := next(near, None)) is None:
            found.append((row, [passage]))
        else:
            passages.append(passage)
            passages[1:] = sorted(passages[1:], key=lambda one: (one.position, one.start))
    names = [threads[row.id >> PASSAGE_BITS][0] for row, _ in found]
    return [
        ThreadPassage(name, best, tuple(around))
        for name, (_, (best, *around)) in zip(names, found, strict=True)
    ]


def find_threads(
    db: ArchiveRows, threads: Mapping[int, tuple[str, int]], question: SearchQuery
) -> list[ThreadPassage]:
    """Return the threads that have the words of a query, best first, each with its best passage.

    Words that many threads have weigh little. A thread with fewer of them than others is left out
    (`LEAST_SHARE`). See `search_threads` for the arguments.
    """
    hits = _find_in_threads(db, threads, question)
    # Where a statement may read all threads, the limits of the first pass held for all together.
    if db.bound == UNBOUND and any(count >= MAX_HITS for count in hits.counts):
        hits = _find_in_threads(db, threads, question, separately=True)
    weigh = PassageWeights(question, hits)
    numbers: dict[int, list[int]] = {}
    for number in hits.rows:
        numbers.setdefault(number >> PASSAGE_BITS, []).append(number)
    least = LEAST_SHARE * max(hits.threads.values(), default=0.0)
    found: list[tuple[tuple[float, float], ThreadPassage]] = []
    for thread, own in numbers.items():
        if (share := hits.threads[thread]) < least:
            continue
        first = nlargest(PER_THREAD, own, lambda one: (weigh(hits.rows[one]), one))
        rows = _read_rows(db, {one + step for one in first for step in (-1, 0, 1)})
        if ranked := rank(question, hits, rows):
            passage, score = _excerpt(ranked[0], rows, NARROWEST), ranked[0].features.score
        else:  # a call whose result has no text
            row, score = rows[first[0]], 0.0
            passage = Passage(row.position, row.speaker, row.text, 0)
        found.append(((share, score), ThreadPassage(threads[thread][0], passage)))
    found.sort(key=lambda pair: pair[0], reverse=True)
    return [passage for _, passage in found]


def _different(
    candidates: Iterable[PassageCandidate], rows: dict[int, PassageRow]
) -> Iterator[PassageCandidate]:
    """Yield the best of each exchange, if it has a line that those before it do not have."""
    found: list[PassageRow] = []
    seen_lines: set[str] = set()
    for one in candidates:
        if not any(_is_near(one.row, other) for other in found):
            found.append(one.row)
            if _has_new_line(_excerpt(one, rows, 0), seen_lines):
                yield one


@dataclass(slots=True)
class _RankedExchange:
    """A hit and the passages of the messages around it."""

    hit: PassageCandidate
    best: Passage
    weights: dict[PassageRow, float]
    score: float


def _weigh_exchanges(
    db: ArchiveRows,
    ranked: Iterable[PassageCandidate],
    question: SearchQuery,
    hits: Hits,
    rows: dict[int, PassageRow],
) -> list[_RankedExchange]:
    """Return the exchanges of the best hits, best first: also by the passages around each.

    An answer often has few words of its question, and the messages around it have the others.
    """
    weigh = PassageWeights(question, hits)
    found: list[_RankedExchange] = []
    for hit in islice(_different(ranked, rows), EXCHANGES):
        reach = range(hit.row.id - EXCHANGE_PASSAGES, hit.row.id + EXCHANGE_PASSAGES + 1)
        rows |= _read_rows(db, set(reach) - rows.keys())
        near = [
            rows[row]
            for row in reach
            if row in rows and abs(rows[row].position - hit.row.position) <= EXCHANGE_MESSAGES
        ]
        best = _excerpt(hit, rows, WIDTHS[0][1])
        weights = _passage_weights(best, near, question, hits, weigh)
        score = hit.features.score + EVIDENCE * max(weights.values(), default=0.0)
        score += CONCLUSION * (hit.row.speaker == "assistant")
        found.append(_RankedExchange(hit, best, weights, score))
    return sorted(found, key=lambda one: -one.score)


def _show_exchanges(
    ranked: Iterable[_RankedExchange],
    rows: Mapping[int, PassageRow],
    max_tokens: int,
    count: Counter,
) -> list[tuple[PassageRow, list[Passage]]]:
    """Return the hits of the best exchanges, each with passages around it."""
    found: list[tuple[PassageRow, list[Passage]]] = []
    seen_lines: set[str] = set()
    shares = [int(max_tokens * share) for share in EXCHANGE_SHARES]
    for one, share in zip(ranked, shares, strict=False):
        room = min(max_tokens, share)
        for best in (one.best, _excerpt(one.hit, rows, NARROWEST)):
            cost = _tokens([best], count)
            if cost <= room:
                seen_lines |= _unnumbered_lines(best.text)
                around = _choose(one.weights, room - cost, count, seen_lines)
                found.append((one.hit.row, [best, *around]))
                max_tokens -= _tokens(found[-1][1], count)
                break
    return found


def _fused(lists: Sequence[Iterable[_RankedExchange]]) -> list[_RankedExchange]:
    """Return the exchanges for several phrasings, each once, by their ranks for each."""
    groups: list[list[_RankedExchange]] = []
    for place, one in chain.from_iterable(map(enumerate, lists)):
        one.score = 1 / (FUSION + place)
        group = next((group for group in groups if _is_near(one.hit.row, group[0].hit.row)), None)
        if group:
            group.append(one)
        else:
            groups.append([one])
    found = sorted(map(_merged, groups), key=lambda one: -one.score)
    seen_lines: set[str] = set()
    return [one for one in found if _has_new_line(one.best, seen_lines)]


def _fused_candidates(rankings: Sequence[Sequence[PassageCandidate]]) -> list[PassageCandidate]:
    """Return the candidates for several phrasings, each once, by their ranks for each."""
    best: dict[int, PassageCandidate] = {}
    scores: dict[int, float] = {}
    for place, one in chain.from_iterable(map(enumerate, rankings)):
        best.setdefault(one.row.id, one)
        scores[one.row.id] = scores.get(one.row.id, 0.0) + 1 / (FUSION + place)
    return sorted(best.values(), key=lambda one: -scores[one.row.id])


def _merged(group: Sequence[_RankedExchange]) -> _RankedExchange:
    """Return an exchange as the phrasing has it that ranks it first, with the others' hits."""
    first = max(group, key=lambda one: one.score)
    score = math.fsum(one.score for one in group)
    weights = dict(first.weights)
    for one in group:
        for row, weight in one.weights.items():
            if row in weights:
                weights[row] = max(weights[row], weight)
        row = one.hit.row
        if row in weights:
            weights[row] = max(weights.values()) + one.score
    return replace(first, weights=weights, score=score)


def _has_new_line(passage: Passage | PassageRow, seen_lines: set[str]) -> bool:
    """Return whether a passage has a line that none before it has, and note its lines."""
    new_lines = _unnumbered_lines(passage.text) - seen_lines
    seen_lines |= new_lines
    return bool(new_lines)


def _is_near(one: PassageRow, other: PassageRow) -> bool:
    """Return whether two passages are of one exchange."""
    is_same = one.id >> PASSAGE_BITS == other.id >> PASSAGE_BITS
    return is_same and abs(one.position - other.position) <= EXCHANGE_MESSAGES


def _passage_weights(
    best: Passage,
    near: Sequence[PassageRow],
    question: SearchQuery,
    hits: Hits,
    weigh: PassageWeights,
) -> dict[PassageRow, float]:
    """Return the weight of each passage near a hit that its excerpt does not show.

    The weights are those of a logistic regression over the passages that hold an answer of 280
    questions.
    """
    end = best.start + len(best.text)
    shown = weigh.words_in(best.text)
    lengths = {row.position: row.start + len(row.text) for row in near}  # in order: the last holds
    weights: dict[PassageRow, float] = {}
    for row in near:
        for part in _parts_not_shown(row, best):
            text = part.text.lower()
            words = hits.rows.get(row.id, 0)
            words = words if part is row else words & weigh.words_in(text)
            exact = sum(token in text for token in question.tokens) / max(1, len(question.tokens))
            weight = (3.15 * weigh(words) + 1.87 * weigh(words & ~shown)) / weigh.all + 1.35 * exact
            weight += {"user": 0.62, "assistant": 0.94}.get(written_by(row.speaker), 0.0)
            weight -= 0.28 * math.log1p(lengths[row.position])
            if row.position == best.position:
                gap = min(abs(part.start - end), abs(best.start - part.start - len(text)))
                weight += 1.21 - 0.135 * math.log1p(gap)
            weights[part] = weight
    return weights


def _parts_not_shown(row: PassageRow, shown: Passage) -> list[PassageRow]:
    """Return the parts of a passage that an excerpt does not show."""
    before, after = shown.start - row.start, shown.start + len(shown.text) - row.start
    if row.start < 0:
        return []
    if row.position != shown.position or before >= len(row.text) or after <= 0:
        return [row]
    parts = [row._replace(text=row.text[: max(0, before)])]
    parts += [row._replace(start=row.start + after, text=row.text[after:])]
    return [part for part in parts if part.text.strip()]


def _choose(
    weights: Mapping[PassageRow, float], max_tokens: int, count: Counter, seen_lines: set[str]
) -> Iterator[Passage]:
    """Yield the passages that weigh most and fit, in the order of the thread.

    A passage has a line that none before it has; its lines are added to those.
    """
    chosen: list[PassageRow] = []
    for row in sorted(weights, key=weights.__getitem__, reverse=True):
        if max_tokens < LEAST_TOKENS:
            break
        if len(row.text) > max_tokens * MOST_CHARS_PER_TOKEN:
            continue
        cost = count(row.text) + PLACE_TOKENS
        if cost <= max_tokens and _has_new_line(row, seen_lines):
            max_tokens -= cost
            chosen.append(row)
    runs: list[PassageRow] = []
    for row in sorted(chosen):
        last = runs[-1] if runs else row
        if (last.position, last.start + len(last.text)) == (row.position, row.start):
            runs[-1] = last._replace(text=last.text + row.text)
        else:
            runs.append(row)
    for row in runs:
        start = row.start + len(row.text) - len(row.text.lstrip("\n"))
        yield Passage(row.position, row.speaker, row.text.strip("\n"), start)


def _tokens(passages: Sequence[Passage], count: Counter) -> int:
    return count(render_passages(passages) + "\n\n") + 1


def _consecutive_runs(threads: Sequence[int], others: Collection[int]) -> list[Sequence[int]]:
    """Split threads where others lie in between, so that a limit counts none of theirs.

    Example:
        >>> _consecutive_runs([1, 2, 5, 6], [3, 4, 7])
        [[1, 2], [5, 6]]
    """
    sorted_others = sorted(others)
    runs: list[Sequence[int]] = [
        list(run) for _, run in groupby(threads, key=lambda one: bisect_left(sorted_others, one))
    ]
    return runs if len(runs) <= MAX_RUNS else [threads]


def _find_in_threads(
    db: ArchiveRows,
    threads: Mapping[int, tuple[str, int]],
    question: SearchQuery,
    others: Collection[int] = (),
    *,
    separately: bool = False,
) -> Hits:
    """Return the passages that contain words of a query, as `index.find` does.

    Of all threads only the rarest words are listed, and pairs of the others; each of the others is
    looked up among the passages with one of the rarest.

    Args:
        db: In a transaction.
        threads: See `search_threads`.
        question: The query.
        others: Threads of the owner that are not searched.
        separately: Whether each thread is searched by itself: the limits then hold for each.
    """
    ends = {
        number: (number << PASSAGE_BITS) + passages for number, (_, passages) in threads.items()
    }
    runs: Iterable[Sequence[int]] = ()
    if ends and question.words:
        order = sorted(ends)
        runs = ([one] for one in order) if separately else _consecutive_runs(order, others)
    rows: dict[int, int] = {}
    query = question.words
    counts = [0.0] * len(query)
    for group in chain.from_iterable(readable_groups(db, run) for run in runs):
        group_threads = frozenset(group)
        first, end = group[0] << PASSAGE_BITS, ends[group[-1]]
        group_counts = [_count_passages(db, word, group, ends) for word in query]
        counts = [sum(pair) for pair in zip(counts, group_counts, strict=True)]
        for bits, any_of in _lookups(query, group_counts):
            words = [query[bit] for bit in bits]
            ids = db.listed_under(words, first, end, MAX_HITS, any_of=any_of)
            _mark_words(
                rows,
                [row for row in ids if row >> PASSAGE_BITS in group_threads],
                sum(1 << bit for bit in bits),
            )
    shares = _thread_shares(question, rows, len(ends))
    total = sum(end - (thread << PASSAGE_BITS) for thread, end in ends.items())
    return Hits(rows, tuple(counts), total, shares)


def _count_passages(
    db: ArchiveRows, word: str, threads: Sequence[int], ends: Mapping[int, int]
) -> float:
    """Return the number of passages with a word, estimated by the newest if there are many."""
    first, end = threads[0] << PASSAGE_BITS, ends[threads[-1]]
    count, lowest = db.count_listed(word, first, end, MAX_LISTED)
    if count != MAX_LISTED:
        return count
    newest = threads[bisect_left(threads, lowest >> PASSAGE_BITS) :]
    counted_span = sum(ends[thread] - max(thread << PASSAGE_BITS, lowest) for thread in newest)
    return (
        count
        * sum(ends[thread] - (thread << PASSAGE_BITS) for thread in threads)
        / max(1, counted_span)
    )


def _lookups(
    query: Sequence[str], counts: Sequence[float]
) -> Iterator[tuple[Sequence[int], Sequence[str]]]:
    """Plan the index lookups: words that a passage has all of, and some it has one of."""
    order = sorted((bit for bit, count in enumerate(counts) if count), key=counts.__getitem__)
    totals = accumulate(counts[bit] for bit in order)
    rare_bits = [bit for bit, total in zip(order, totals, strict=True) if total <= MAX_LISTED]
    common_bits = order[len(rare_bits) :]
    rare_bits = rare_bits or order[:1]
    rare_words = [query[bit] for bit in rare_bits]
    for bit in order:
        yield [bit], () if bit in rare_bits else rare_words
    pairs = sorted(combinations(common_bits, 2), key=lambda pair: sum(counts[bit] for bit in pair))
    groups = [common_bits, *pairs] if len(common_bits) > 2 else pairs  # noqa: PLR2004 (more than a pair)
    for group in groups[:MAX_GROUPS]:
        yield group, ()


def readable_groups(db: ArchiveRows, threads: Sequence[int]) -> Iterator[Sequence[int]]:
    """Split threads into groups that one statement may read, and enable the transaction to."""
    if db.bound == UNBOUND:
        yield threads
        return
    for thread in threads:
        db.row(f"SELECT {db.bound} FROM archive_thread WHERE id = ?", (thread,))  # noqa: S608 (ours)
        yield [thread]


def _mark_words(rows: dict[int, int], ids: Iterable[int], words: int) -> None:
    for row in ids:
        rows[row] = rows.get(row, 0) | words


def _thread_shares(question: SearchQuery, rows: Mapping[int, int], total: int) -> dict[int, float]:
    """Return the share of the query's words in each thread: it is evidence for its passages."""
    words_by_thread: dict[int, int] = {}
    for row, words in rows.items():
        words_by_thread[row >> PASSAGE_BITS] = words_by_thread.get(row >> PASSAGE_BITS, 0) | words
    weights = [
        rarity(sum(words >> bit & 1 for words in words_by_thread.values()), total)
        * question.importance(word)
        for bit, word in enumerate(question.words)
    ]
    weigh_words = Weights(weights)
    mask = (1 << len(weights)) - 1
    return {
        thread: weigh_words(words & mask) / (weigh_words.all or 1.0)
        for thread, words in words_by_thread.items()
    }


def _heaviest(question: SearchQuery, hits: Hits) -> Hits:
    """Drop passages whose own words weigh too little for the shortlist."""
    if len(hits.rows) <= MAX_HEAVIEST:
        return hits
    weigh = PassageWeights(question, hits)
    weights = {words: weigh(words) for words in set(hits.rows.values())}
    kept = nlargest(MAX_HEAVIEST, hits.rows, lambda row: (weights[hits.rows[row]], row))
    return replace(hits, rows={row: hits.rows[row] for row in kept})


def _read_rows(db: ArchiveRows, ids: Iterable[int]) -> dict[int, PassageRow]:
    """Return passages of any thread."""
    row_ids = sorted(ids)
    threads = sorted({row >> PASSAGE_BITS for row in row_ids})
    if db.bound == UNBOUND:
        return rows_of(db, row_ids)
    rows: dict[int, PassageRow] = {}
    for (thread,) in readable_groups(db, threads):
        rows |= rows_of(db, [row for row in row_ids if row >> PASSAGE_BITS == thread])
    return rows
