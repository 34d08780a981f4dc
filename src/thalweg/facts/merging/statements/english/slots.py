"""What English statements claim of things with a slot for it, and what is used of a kind."""

import re
from collections.abc import Iterator

from thalweg.facts.merging.statements.attributes import attribute_key
from thalweg.facts.merging.statements.claims import Claim, Manner
from thalweg.facts.merging.statements.english.cues import folded
from thalweg.facts.merging.statements.english.tokens import KIND, KIND_OF, subject_words, telling
from thalweg.facts.merging.statements.english.wording import part_value
from thalweg.facts.merging.statements.tables.english_words import stem, stems
from thalweg.facts.merging.statements.tables.kinds import SINGLE_KINDS
from thalweg.facts.merging.statements.tables.nouns import SLOTS

SLOT = stems(SLOTS)
_OF = r"^(?:(?P<y>\S+(?: \S+){0,2}?) (?:of|for) )?(?P<s>\S+(?: \S+){0,5}?) "
_IS = re.compile(_OF + r"be (?:on |at |in |set to |call |name |a )*(?P<v>.+)$")
_CHANGES = re.compile(
    _OF
    + r"(?:be |get |hav be )?(?:"
    + folded(
        "move|change|push|extend|raise|increase|reduce|lower|cut|update|upgrade|bump|postpone"
        "|delay|reschedule|shift|rename|set|switch|migrate|drop|go up|go down|rise|downgrade"
        "|shorten"
    )
    + r")(?: back| forward| up| down| out)?(?: from (?P<o>.+?))? (?:to|until|at) (?P<v>.+)$"
)
_SWITCHES = re.compile(
    r"^(?P<s>\S+(?: \S+){0,3}?) (?:"
    + folded("switch|change|move|update")
    + r") (?:user 's |team 's )?(?P<y>\S+(?: \S+){0,2}?) (?:from (?P<o>.+?) )?to (?P<v>.+)$"
)
_FAVOURITE = stem("favourite")
_NO_SUBJECT = frozenset(("get", "do"))


def slots(bare: str, manner: Manner) -> Iterator[Claim]:
    """Read `the Y of X is V`, `X's Y was changed to V`, `X switched Y to V`."""
    for pattern in (_SWITCHES, _CHANGES, _IS):
        found = pattern.match(bare)
        if not found or (pattern is _SWITCHES and found["y"].split()[-1] not in SLOT):
            continue
        words = [w for w in f"{found['s']} {found['y'] or ''}".split() if w not in {"'s", ","}]
        head = (found["y"] or found["s"]).split()[-1]
        if _NO_SUBJECT & set(words) or (head not in SLOT and _FAVOURITE not in words):
            continue
        value, rest = part_value("", found["v"])
        words.remove(head)
        if value:
            yield Claim(
                subject=subject_words(" ".join(words)),
                attribute=attribute_key(head),
                value=value,
                is_single=True,
                polarity=manner.polarity,
                rest=telling(rest.split()),
                is_change=manner.is_change or pattern is not _IS,
            )
        return


_USES = re.compile(
    r"^(?P<s>\S+(?: \S+){0,5}?) (?:"
    + folded(
        "use|run on|be on|write code in|write in|prefer|run|code in|work in|program in|develop in"
        "|switch to|move to|migrate to|track \\S+ in|be track in|install|browse with|work on"
        "|go through|go out through|take note in|keep note in|pay with|bank with"
        "|listen to music on|be write in|be build with|be test with|rely on|develop on|adopt|have"
        "|be|change to|upgrade to|be manage with|chat on|communicate on|communicate via"
        "|communicate through"
    )
    + r") (?:a )?(?P<v>.+)$"
)
_KIND_WORDS = stems(
    "editor ide browser phone database framework language system os tool app main primary default "
    "daily driver shell terminal code coding"
)


def uses(bare: str, manner: Manner) -> Iterator[Claim]:
    """Read `X uses V` where V is of a known kind: what X uses of that kind."""
    found = _USES.match(bare)
    member = KIND.match(found["v"]) if found else None
    if not found or not member:
        return
    kind, rest = KIND_OF[member[0]], found["v"][member.end() :]
    version = re.match(r" \d+(?:\.\d+)*", rest)
    number = version[0] if version else ""
    yield Claim(
        subject=subject_words(found["s"]),
        attribute=kind,
        value=member[0] + number,
        is_single=kind in SINGLE_KINDS,
        polarity=manner.polarity,
        rest=telling(rest.removeprefix(number).split()) - _KIND_WORDS,
        is_change=manner.is_change,
    )
