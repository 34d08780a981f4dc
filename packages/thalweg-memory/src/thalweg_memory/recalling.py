"""Recall: from a question to the block that answers it, through the store and the pure ranking."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from thalweg.engine.entries import Message
from thalweg.engine.tokens import Counter, exact_counter
from thalweg_memory.deciding import standing_facts
from thalweg_memory.facts.document import read_document
from thalweg_memory.facts.learning.lesson import worth
from thalweg_memory.facts.recall.ranking import (
    REACH,
    ItemWeights,
    Ranked,
    RecallFeatures,
    RecallItem,
    RecallQuery,
    ask,
    ask_further,
    links,
    rank,
    shortlist,
    without,
    worth_reading,
)
from thalweg_memory.facts.recall.rendering import PackedItem, Recalled, pack
from thalweg_memory.facts.recall.seeds import render_system, top_facts
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import (
    Fact,
    FactId,
    Profile,
    Scope,
    Trust,
    is_valid,
    split_by_validity,
)
from thalweg_memory.store.tables import MemoryStore

MESSAGE_TOKENS = 8
"""Tokens of the message around a block, at most."""
MOST_STANDING = 50
"""Facts that are looked at of those which nothing asked for."""
EARLIER = 8
"""Messages before the newest one that define the subject of a conversation."""


HITS = 20
"""First hits for which the start of the thread is added."""
_CHARS = 4
"""Characters of a token, at the most on the average (English prose, o200k)."""
OWN = 500
"""Pieces of the thread that asks which it is taken to show: the newest."""
IsKnown = Callable[[RecallItem], bool]
"""Returns whether the caller already has an item."""


def nothing_is_known(item: RecallItem) -> bool:
    """Return False: the caller has no items yet."""
    del item
    return False


def recall(
    store: MemoryStore,
    scope: Scope,
    query: str | Sequence[Message],
    *,
    settings: MemorySettings,
    budget: int,
    count: Counter,
    now: str,
    explain: bool = False,
    thread: str = "",
    is_known: IsKnown = nothing_is_known,
) -> Recalled:
    """Find what answers a question; see `Memory.recall`."""
    texts = _query_texts(query)
    if settings.retrieval == "seeds":
        profile = store.profile(scope)
        facts, _ = split_by_validity(store.facts(scope), now=now)
        recalled = _as_seeds(facts, profile, texts, settings, budget, count)
    else:
        question = ask(texts[0], *texts[1:])
        with store.view(scope):
            profile = store.profile(scope)
            own = store.newest(scope, thread, OWN) if thread else []
            ranked = _ranked(store, scope, question, own, now)
            begins = not isinstance(query, str) and not own
            related: list[Ranked] = []
            if begins and sum(len(one.item.text) for one in ranked) < budget * _CHARS:
                related = _related(store, scope, question, ranked, now)
        if not settings.include_turns:
            ranked = [one for one in ranked if one.item.fact is not None]
            related = [one for one in related if one.item.fact is not None]
        ranked = _with_newer(store, scope, ranked, now)
        ranked = [one for one in ranked if not is_known(one.item)]
        standing: list[Ranked] = []
        if not isinstance(query, str):
            standing = _standing(standing_facts(store, scope, profile), ranked, now)
            standing = _with_newer(store, scope, standing, now, 2 * -10_000)
        newest: list[Ranked] = []
        if begins and settings.include_turns:
            newest = _newest(store, scope, {one.item.number for one in ranked})
        standing, related, newest = (
            [one for one in many if not is_known(one.item)] for many in (standing, related, newest)
        )
        recalled = pack(
            ranked,
            budget,
            count,
            profile=profile,
            standing=standing,
            related=related,
            newest=newest,
            zone=settings.time_zone,
        )
    if explain:
        return recalled
    shown = tuple(one for one in recalled.placed if one.fate == "shown")
    return replace(recalled, placed=shown)


def _query_texts(query: str | Sequence[Message]) -> list[str]:
    """List the texts that a question is about, the newest first."""
    if isinstance(query, str):
        return [query]
    texts = [message.text for message in query if message.role in {"user", "assistant"}]
    return [text for text in reversed(texts) if text.strip()][: EARLIER + 1] or [""]


def _ranked(
    store: MemoryStore,
    scope: Scope,
    question: RecallQuery,
    own: Collection[int],
    now: str,
) -> list[Ranked]:
    found = without(store.find(scope, question.words), own)
    scale = ItemWeights(question, found)
    short = shortlist(scale)
    near = links(store.neighbours(scope, short, REACH))
    items = store.items(scope, worth_reading(scale, short, near))
    ended = _superseded(store, scope, items)
    shown = [item for item in items if _may_be_shown(item)]
    ranked = rank(scale, shown, near, stale=_stale([*items, *ended], now))
    facts = [one.item.fact for one in ranked if one.item.fact is not None]
    holding, before = split_by_validity(facts, now=now)
    included = {fact.id for fact in holding}
    if question.expects_past:
        included |= {fact.id for fact in before}
    return [one for one in ranked if one.item.fact is None or one.item.fact.id in included]


def _related(
    store: MemoryStore, scope: Scope, question: RecallQuery, ranked: Sequence[Ranked], now: str
) -> list[Ranked]:
    """Rank what shares words with the first hits, and was not found by the question itself.

    A thread that begins without a question is about more than its words name.
    """
    further = ask_further(question, ((one.item.text, one.score) for one in ranked[:HITS]))
    there = {one.item.number for one in ranked}
    found = _ranked(store, scope, further, (), now)
    return [one for one in found if one.item.number not in there]


def _superseded(store: MemoryStore, scope: Scope, items: Sequence[RecallItem]) -> list[RecallItem]:
    """Read the facts that found facts and the newest ones superseded: their turns are stale."""
    found = [item.fact for item in items if item.fact is not None]
    newest = store.facts(scope, limit=MOST_STANDING)
    ids = {id_ for fact in (*found, *newest) for id_ in fact.supersedes}
    ids -= {fact.id for fact in found}
    read = store.facts(scope, ids=sorted(ids), statuses=("superseded",)) if ids else []
    return [RecallItem(0, fact=fact) for fact in read]


def _with_newer(
    store: MemoryStore,
    scope: Scope,
    ranked: Sequence[Ranked],
    now: str,
    first: int = -10_000,
) -> list[Ranked]:
    """Put before each fact the newer ones that it is linked to, so that it is not read alone.

    Behind one that rests on a single message come those that it replaced, quoted ones behind
    quoted ones: no model's answer to one message hides what was known before. Their items have
    numbers from `first` down.
    """
    there = {one.item.fact.id for one in ranked if one.item.fact is not None}
    facts = [one.item.fact for one in ranked[:MOST_STANDING] if one.item.fact is not None]
    missing = {id_ for fact in facts for id_ in fact.related if id_ not in there}
    missing |= {id_ for fact in facts for id_ in _replaced_once(fact) if id_ not in there}
    if not missing:
        return list(ranked)
    read, before = split_by_validity(
        store.facts(scope, ids=sorted(missing), statuses=("active", "superseded")), now=now
    )
    linked = {fact.id: fact for fact in read}
    found: list[Ranked] = []
    for one in ranked:
        fact = one.item.fact
        if fact is None:
            found.append(one)
            continue
        newer = [linked.pop(id_) for id_ in fact.related if id_ in linked]
        old = [each for each in before if each.superseded_by == fact.id]
        for each in (*newer, fact, *(each for each in old if fact.claim or not each.claim)):
            item = one.item if each is fact else RecallItem(first - len(found), fact=each)
            found.append(replace(one, item=item))
    return found


def _replaced_once(fact: Fact) -> Sequence[FactId]:
    """Return the facts that one replaced if one message of the user's is all that states it."""
    is_learned = fact.written_by.startswith("learned")
    stated = {each.uid for each in fact.evidence}
    return fact.supersedes if is_learned and len(stated) == 1 else ()


def _standing(known: Sequence[Fact], ranked: Sequence[Ranked], now: str) -> list[Ranked]:
    """Return what any conversation is shown: the most valuable facts first.

    The user's identity and preferred style of answers seldom share a word with a question.
    """
    ranked_ids = {one.item.fact.id for one in ranked if one.item.fact is not None}
    facts, _ = split_by_validity((fact for fact in known if fact.id not in ranked_ids), now=now)
    facts.sort(key=lambda fact: (fact.protected, worth(fact, now=now)), reverse=True)
    items = [RecallItem(-1 - at, fact=fact) for at, fact in enumerate(facts[:MOST_STANDING])]
    return [Ranked(item, RecallFeatures.none()) for item in items]


def _newest(store: MemoryStore, scope: Scope, ranked: Collection[int]) -> list[Ranked]:
    """Return the user's newest messages that no fact was learned from yet, the newest first.

    A new memory, or one without a learner, is told by them when a thread begins, also where the
    question shares no word with it.
    """
    with store.view(scope):
        numbers = [n for n in store.newest(scope, "", MOST_STANDING) if n not in ranked]
        learned: dict[str, int] = {}
        found: list[Ranked] = []
        for item in store.items(scope, numbers):
            turn = item.turn
            if turn is None or turn.trust < Trust.USER:
                continue
            if turn.thread not in learned:
                learned[turn.thread] = store.learned(scope, turn.thread)
            if turn.seq >= learned[turn.thread]:
                found.append(Ranked(item, RecallFeatures.none()))
    return found


def _may_be_shown(item: RecallItem) -> bool:
    """Return whether an item is trusted."""
    if item.turn is not None:
        return item.turn.trust >= Trust.ASSISTANT
    return item.fact is not None and item.fact.trust >= Trust.IMPORT


def _stale(items: Sequence[RecallItem], now: str) -> dict[str, list[str]]:
    """Return statements that are no longer valid, by the id of their message."""
    gone: dict[str, list[str]] = {}
    for item in items:
        fact = item.fact
        if fact is not None and (fact.status == "superseded" or fact.valid_to):
            for evidence in fact.evidence if not is_valid(fact, now=now) else ():
                gone.setdefault(evidence.uid, []).append(evidence.quote)
    return gone


def format_memory_for_injection(
    memory_data: Mapping[str, object], max_tokens: int = 2_000, current_context: str | None = None
) -> str:
    r"""Return the text of DeerFlow's `<memory>` for a document, as its function of this name does.

    Args:
        memory_data: A document: `userContext`, `history`, `facts`.
        max_tokens: Most tokens (o200k) of the text.
        current_context: The last turns, by which facts are chosen; confidence alone without any.

    Raises:
        DocumentError: It is no such document.

    Example:
        >>> fact = {"content": "Likes tea", "category": "preference", "confidence": 0.9}
        >>> format_memory_for_injection({"facts": [fact]})
        '## Key Facts\n- Likes tea (confidence: 0.90)'
    """
    document = read_document(json.dumps(memory_data, ensure_ascii=False))
    top = top_facts(document.facts or (), current_context or "")
    facts = [fact for _, fact in top]
    return render_system(Profile(document.sections), facts, max_tokens, exact_counter())


def _as_seeds(
    facts: Sequence[Fact],
    profile: Profile,
    texts: Sequence[str],
    settings: MemorySettings,
    budget: int,
    count: Counter,
) -> Recalled:
    """Recall like DeerFlow's documents; see `memory.facts.recall.seeds`."""
    top = top_facts(
        facts,
        " ".join(reversed(texts)),
        similarity_weight=settings.similarity_weight,
        confidence_weight=settings.confidence_weight,
    )
    text = render_system(profile, [fact for _, fact in top], budget, count)
    placed = tuple(
        PackedItem(
            Ranked(RecallItem(number, fact=fact), _of_seeds(score)), "shown", count(fact.content)
        )
        for number, (score, fact) in enumerate(top)
    )
    return Recalled(text, count(text), placed, profile)


def _of_seeds(score: float) -> RecallFeatures:
    return replace(RecallFeatures.none(), words=score)
