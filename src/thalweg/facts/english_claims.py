"""What English statements claim: a table of sentences, each with the attribute that it tells."""

import re
from collections.abc import Callable, Iterable, Iterator

from thalweg.facts.attributes import attribute_key, is_single
from thalweg.facts.contrasts import ENGLISH_WORDS
from thalweg.facts.english import KIND, KIND_OF, tokens
from thalweg.facts.kinds import OCCUPATIONS, SCALES, SINGLE_KINDS, SLOTS
from thalweg.facts.claims import USER, Claim, Statement
from thalweg.facts.synonyms import CLASS_OF, ENGLISH_LIGHT, ENGLISH_WEAK, lemma


def _folded(words: str) -> frozenset[str]:
    return frozenset(CLASS_OF.get(lemma(word), lemma(word)) for word in words.split())


_LITERAL = re.compile(r"(?<!\(\?)(?<![\\A-Za-z<])[a-z][a-z-]*(?![a-z>=])")


def _pattern(text: str) -> str:
    """Fold the words of a pattern as those of statements are."""
    return _LITERAL.sub(lambda m: CLASS_OF.get(lemma(m[0]), lemma(m[0])), text)


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile(r"(?<!\S)(?:" + "|".join(map(_pattern, phrases)) + r")(?!\S)")


_NOW = _any(
    "now", "current", "currently", "(on )?these day", "at (the )?moment", "nowadays", "at present",
    "presently", "as of (today|now|@\\S+)", "from now on", "going forward", "lately", "recently",
    "just", "instead", "anymore", "any more", "any longer", "by now", "meanwhile", "today", "already",
    "finally", "since", "eventually", "new",
)  # fmt: skip
_CHANGE = _any(
    "switch", "move", "change", "relocate", "migrate", "replace", "become", "update", "upgrade",
    "downgrade", "turn", "rename", "push", "postpone", "reschedule", "extend", "shorten", "raise",
    "increase", "reduce", "lower", "cut", "convert", "shift", "swap", "trade", "transfer", "promote",
    "take over", "hand over", "took over", "begin", "stop", "quit", "leave", "give up", "no longer",
    "go back", "back", "grow", "rather than", "instead of", "be down to", "be up to", "pick up",
    "get a new", "bump", "bring forward", "be set to", "adopt", "drop", "retire", "gone", "cancel",
    "resign", "sell", "break up", "divorc", "join", "since .*", "now that", "with .* on board", "go up",
    "go down", "rise", "fall", "settle on", "reassign", "ditch", "abandon", "abolish",
    "die", "pass away", "recover", "at last", "number 1", "beat everything else", "former", "formerly",
    "over to", "for good", "slip", "graduate", "delay",
)  # fmt: skip
_CORRECTION = _any(
    "actually", "correction", "small correction", "be wrong", "mistake", "mistaken", "misread",
    "misspoke", "mix up", "mean", "meant", "sorry", "clarify", "in fact", "turn out", "typo", "not",
    "oops", "wrong", "correct", "wrongly", "confuse", "should be", "rather", "change mind",
    "change user 's mind", "scratch that", "my bad", "to be precise", "i misremember", "misremember",
)  # fmt: skip
_OVER = _any(
    "no longer", "not .* anymore", "not .* any more", "not .* any longer", "stop", "quit", "give up",
    "formerly", "be gone", "be over", "die", "pass away", "break up with", "leave (?!at|on|for|from|in)", "resign from",
    "cancel", "get rid of", "sell", "be do with", "drop", "be retire", "be discontinue",
    "move away from", "move on from", "be shut down", "ditch", "abandon", "be no more", "be dead", "graduate from",
)  # fmt: skip
_NEGATION = _any("not", "never", "no", "without", "neither", "nor", "dislike", "avoid")
_WISH = _any(
    "want to", "would like to", "plan to", "intend to", "hope to", "be think of", "be think about",
    "think of", "think about", "consider", "may", "might", "could", "will", "be going to", "going to",
    "wish to", "dream of", "look to", "look for", "apply to", "apply for", "interview", "aim to",
    "hope", "if", "plan a", "would love to", "maybe", "perhaps", "want study", "would like study",
    "plan on", "goal",
)  # fmt: skip
_ADDITION = _any(
    "also", "too", "as well", "additionally", "another", "in addition", "besides", "part-time",
    "on the side", "a 2th", "a 3th", "2th job", "as well as", "both", "one more", "an other",
)  # fmt: skip
_PAST = _any("from @?\\d\\S* (to|until|till) @?\\d\\S*", "in @?(19|20)\\d\\d(-\\S+)?", "formerly",
             "back then", "in the past", "as a (student|child|kid|teenager)", "years? ago",
             "previous", "previously", "former", "once", "when user be", "until @?\\d\\S*",
             "originally")  # fmt: skip

Check = Callable[[str], bool]
_OCCUPATION = _folded(OCCUPATIONS)
_NOT_JOBS = _folded("member lover mother father customer user beginner partner owner runner")
_SLOT = _folded(SLOTS)
_RELATION = _folded(
    "sister brother mother father wife son daughter child cousin aunt uncle nephew niece friend "
    "girlfriend neighbour neighbor colleague grandmother grandfather dog cat rabbit hamster parrot "
    "horse fish bird boss manager doctor dentist husband partner roommate flatmate"
)
_SCALE_OF: dict[str, int] = {
    CLASS_OF.get(word, word): number
    for number, line in enumerate(SCALES.splitlines())
    for word in (" ".join(map(lemma, part.split())) for part in line.split("|"))
}


def _is_job(value: str) -> bool:
    words = value.split()
    return any(w in _OCCUPATION for w in words) and not (set(words) & _NOT_JOBS - {"owner"})


_CHECKS: dict[str, Check] = {
    "job": _is_job,
    "number": lambda value: value.split()[0].replace(".", "").isdigit(),
    "date": lambda value: bool(re.match(r"@(?:\d{4}-)?\d\d-\d\d(?!\S)", value)),
    "day": lambda value: bool(
        re.match(r"@|\d\d:\d\d|(?:on |at |next )?(?:@|\d\d:\d\d|\S+dai\b)", value)
    ),
    "year": lambda value: bool(re.fullmatch(r"(?:19|20)\d\d", value)),
    "place": lambda value: not value[:1].isdigit() and not value.startswith("@"),
    "where": lambda value: (
        not value[:1].isdigit()
        and value.split()[-1] not in _SLOT
        and len(value.split()) <= 3
        and "@" not in value
    ),  # noqa: PLR2004
    "kind": lambda value: value in KIND_OF,
    "phone": lambda value: KIND_OF.get(value.split()[0]) == "phone-model",
    "car": lambda value: any(KIND_OF.get(word) == "car-make" for word in value.split()),
    "slot": lambda value: value.split()[-1] in _SLOT,
    "scale": lambda value: value in _SCALE_OF,
    "marital": lambda value: value in _folded("single married divorced engaged widowed separated"),
    "dietary": lambda value: (
        value in _folded("vegetarian vegan omnivore pescatarian carnivore keto")
    ),
    "any": bool,
}
_SLOTS_OF_PATTERNS = {
    "S": r"(?P<s>(?!(?:be|get|hav|do|lik|use) )\S+(?: (?!(?:be|get|hav|do|lik|use) )\S+){0,6}?)",
    "P": r"(?P<v>(?!(?:be|get|hav|do|lik|use) )\S+(?: (?!(?:be|get|hav|do|lik|use) )\S+)?)", "V": r"(?P<v>.+)", "O": r"(?P<o>.+?)", "X": r"(?:\S+(?: \S+)*?)",
    "W": r"(?P<w>\S+(?: \S+){0,4}?)", "N": r"(?P<v>\d[\d.]*)",
}  # fmt: skip

_SENTENCES = """
employer | S work (at|for|with) V:place
employer | S (join|be hire by|get hire by|get hire at) V:place
employer | S (begin|get|take|accept|land|find) (a )?(new )?(job|offer|position|role|work) (at|from|with) V
employer | S begin (at|with) V:place
employer | S 's (new )?employer be (call )?V
employer | S have a job (at|with) V
employer | S be (?P<v>unemployed|between jobs|out of work|retired)$
employer | S be a? X (at|for) V:place
job title | S (be|become|work as) a? V:job
job title | S (be promote to|get promote to|be make|get a promotion to) a? V
job title | S 's (new )?(job title|job|title|role|position) be a? V
home | S 's (home|home city|residence|current city|current location|place of residence) be (in )?V:place
home | S (reside|be base|be locate|settle|settle down|be home|be resident) (in|at) V:place
home | S (move|relocate) (from O )?(back )?to V:place
home | S be a resident of V
birthplace | S be born in V:place
birthplace | S (be|come) (originally )?from V:place
birthplace | S 's (birthplace|hometown|place of birth|birth place) be V
birthplace | S grow up in V
birthday | S be born on V:date
birthday | S 's birthday be (on )?V:day
birthday | S celebrate (user 's )?birthday on V
birth year | S be born in V:year
birth year | S be born in .+ in (?P<v>(19|20)\\d\\d)$
birth year | V:year be S 's year of birth
age | S 's age be N
age | S be N( year( old)?)?$
age | S turn N
name | S 's (full |real |legal |first |last )?name be (spell )?V
name | P be S 's name
name | P be name of S
nickname | S (go by|prefer to be call|like to be call|want to be call) V
nickname | S 's (nickname|preferred name) be V
spouse | S 's wife be (call )?V
spouse | S be marry to V
spouse | S marry V
partner | S 's (girlfriend|fiance|fiancee) be (call )?V
partner | S (date|be in a relationship with|be engage to|be together with) V
marital status | S (be|get|become) V:marital
manager | S 's manager be (call |name )?V
manager | S report to V
manager | P be S 's manager
relation:W | S 's (?P<w>\\S+) be (call|name) V
number of child | S have N child
number of child | S be a? (father|mother|parent) of N( child)?
allergy | S be allergic to V
allergy | S have a? (?P<v>.+) allergy$
allergy | S be allergy to V
+allergy | S can not (take|eat|have|drink) (?P<v>.+) because of a? ?(user 's )?allergy$
+allergy | S (be|have) (intolerant|intolerance) to V
allergy | S have a? allergy to V
diet | S (be|become|go|turn) a? V:dietary
status | S be (turn )?V:scale
diet | S (be on|follow|eat) a? V diet
speaks | S speak (fluent |native |good |basic |perfect )?V
speaks | S be fluent in V
native language | S 's native language be V
learning | S (study) V
prefers | S prefer (?P<v>.+) (over|to|than|rather than|instead of) (?P<o>.+)$
prefers | S like (?P<v>.+) (better|more) than (?P<o>.+)$
prefers | S would rather (?P<v>.+) than (?P<o>.+)$
dislike | S dislike V
dislike | (?P<v>.+) be (something|a thing) (that )?(S )?(really )?dislike$
fear | S be fear of V
fear | S have a? fear of V
phone number | S 's phone number be V:number
email | S 's W? ?email be V
car | S drive a? V
car | S 's W? ?car be a? V:car
phone | S (use|have|get|buy) a? V:phone
phone | S 's phone be a? V
wake time | S (wake|be wak)( up)? (at|by|around) V:day
wake time | daily S (wake|be wak)( up)? (at|by|around) V:day
bedtime | S sleep (at|by|around) V:day
commute | S (commute|get to work|go to work|travel to work) (by|on|with) a? V
commute | S (take|ride) a? (?P<v>.+) to work
commute | S (?P<v>bike|walk|drive) to work
weight | S weigh (?P<v>\\d+(?:\\.\\d+)? \\S+)
height | S be (?P<v>\\d+(?:\\.\\d+)? (?:cm|m|metre|feet|inch)\\S*)( tall)?$
deadline | S (be due|must be finish|hav to be finish|need to be finish|hav to be do|must be do|must be deliver)( on| by)? V:day
deadline | S be deadline (on |by )?V:day
when | S be (on|at|schedule for|plan for) V:day
when | S (take place|happen|begin|start|leave|depart|be hold) (on|at) V:day
port | S (listen|run|be|answer|be reachable|be serve) (on|at) port N
port | S use port N
owner | P own S$
owner | P take over S from O
owner | P take over S
owner | S be with P$
owner | S be own by V
lead | P lead S
lead | S be lead by V
reviewer | P review S
deployment | S (be )?(deploy|host) (on|to|at|with|by|through|via) V
deployment | S deploy W (with|by|through|via|to) V
answer language | (always )?(answer|write|speak) (to user )?in V:any
answer language | S (want|like|prefer|would like) answer (to be )?(in|write in) V
answer length | S (want|like|prefer|would like|ask for) V:scale answer
answer length | S (want|like|prefer|would like|ask for) answer (to )?(be )?(keep |store )?V:scale
answer length | answer (to )?be (keep |store )?V:scale
answer length | answer should be (keep |store )?V:scale
whereabouts | S be (in|at) (?P<v>(hospital|clinic|rehab|intensive care|jail|prison|nursing home|abroad)\\b.*)
whereabouts | S be (back )?(?P<v>hous|at hous|out of hospital|abroad)\\b.*
name | S spell (it|user 's name) V
answer length | (please )?(keep|store) answer V:scale
like | S like V
size | team (have|be|consist of) N (engineer|person|member|developer|employee)
size | there be N (engineer|person|member|developer) (on|in) (user 's )?team
school | S (attend|be a student at|study at|go to) V
degree | S (have|hold) a? (degree|phd|master|bachelor) in V
salary | S earn V
salary | S make (?P<v>\\d\\S* \\S+) (a|per) \\S+
price | S cost V
plays | S play V
home | S be (in|at) V:where
""".strip()


def _compiled() -> Iterator[tuple[str, re.Pattern[str], str]]:
    for line in _SENTENCES.splitlines():
        attribute, _, text = line.partition(" | ")
        check = ""
        found = re.search(r"\bV:(\w+)", text)
        if found:
            check, text = found[1], text.replace(found[0], "V")
        pattern = _pattern(text).replace(" a? ", " (?:a )?")
        pattern = re.sub(r"(?<!\(\?)(?<![\\<\w:])([SVOXWNP])(?![\w>])|(?<=\()([SVOX])(?=[ )])",
                         lambda m: _SLOTS_OF_PATTERNS[m[1] or m[2]], pattern)  # fmt: skip
        if pattern.rstrip().endswith("(?P<v>.+)"):
            pattern += "$"
        yield attribute, re.compile(rf"^(?:{pattern})"), check


SENTENCES = tuple(_compiled())
_TAIL = re.compile(
    r" (?:since|because|becaus|so|when|while|until|after|before|although|which|who|where|as|with|and|,|but"
    r"|for @?\d|in @?(?:19|20)\d\d|instead|rather|not|now|for good)(?: .*)?$"
)
_SHORT_TAIL = re.compile(r" (?:in|at|on|for|from|by|every|near|to|of user) .*$")
_SHORT = frozenset(
    {"employer", "job title", "home", "birthplace", "spouse", "partner", "manager", "name", "owner",
     "car", "phone", "wake time", "bedtime", "allergy", "speaks", "lead", "nickname", "commute"}
)  # fmt: skip
"""Attributes whose values have no prepositions in them."""
REST_FREE = frozenset(
    {"employer", "job title", "home", "age", "name", "birthday", "spouse", "manager", "marital status",
     "weight", "height", "diet", "birthplace", "nickname", "birth year", "partner", "car", "phone",
     "owner", "size", "commute", "native language", "answer length", "answer language", "deadline"}
)  # fmt: skip
"""Attributes that are one person's or thing's whatever else is told beside them."""

_SLOT_OF = re.compile(r"^(?:(?P<y>\S+(?: \S+){0,2}?) (?:of|for) )?(?P<s>\S+(?: \S+){0,5}?) "
                      r"be (?:on |at |in |set to |call |name |a )*(?P<v>.+)$")  # fmt: skip
_SLOT_CHANGE = re.compile(
    r"^(?:(?P<y>\S+(?: \S+){0,2}?) (?:of|for) )?(?P<s>\S+(?: \S+){0,5}?) (?:be |get |hav be )?(?:"
    + _pattern(
        "move|change|push|extend|raise|increase|reduce|lower|cut|update|upgrade|bump|postpone"
        "|delay|reschedule|shift|rename|set|switch|migrate|drop|go up|go down|rise|downgrade|shorten"
    )
    + r")(?: back| forward| up| down| out)?(?: from (?P<o>.+?))? (?:to|until|at) (?P<v>.+)$"
)
_SWITCH = re.compile(
    r"(?:^|.* )(?:" + _pattern("switch|move|migrate|change|convert|upgrade|go|transition|swap|trade")
    + r")(?: (?P<w>\S+(?: \S+)?))? from (?P<o>.+?) (?:over )?(?:to|for) (?P<v>.+)$"
)  # fmt: skip
_INSTEAD = re.compile(r"(?P<v>.+) (?:instead of|rather than|rather then|in plac of) (?P<o>.+)$")
_REPLACE = re.compile(
    r"(?:.* )?(?:" + _pattern("replace|swap") + r") (?P<o>.+?) (?:with|by|for) (?P<v>.+)$"
)
_FROM = re.compile(r"(?:^|.* )(?:" + _pattern("take over") + r") .* from (?P<o>\S+)$")
_NOT_BUT = re.compile(r"(?:^|(?<= ))not (?P<o>\S+(?: \S+){0,3})$")


def telling(words: Iterable[str]) -> frozenset[str]:
    """Keep the words that tell something."""
    return frozenset(w for w in words if w not in ENGLISH_WEAK and w not in {".", ",", "'s"})


_PLAIN = _folded("project service app application system")
"""Words that a name may be given or not: the project Atlas is Atlas."""


def _key(words: str) -> str:
    """Give a subject's key: its telling words without the user's own, in any order."""
    found = sorted({w for w in words.split() if w not in ENGLISH_WEAK and w not in {"'s", ","}})
    found = [word for word in found if word not in _PLAIN] or found
    return " ".join(found) or (USER if "user" in words.split() or not words else words)


def subject_of(subject: str) -> str:
    """Fold a subject as a learner gave it."""
    return _key(" ".join(tokens(subject)).replace(" .", ""))


def read(content: str) -> Statement:
    """Read an English statement; see `read_statement`."""
    words = tokens(content)
    text = " ".join(words)
    clauses = list(_clauses(text))
    claims: list[Claim] = []
    old: list[frozenset[str]] = []
    for clause in clauses:
        claims += _claims(clause)
        old += _old(clause)
    plain = _ADDITION.sub(" ", _NOW.sub(" ", text))
    ordered = tuple(w for w in plain.split() if w not in ENGLISH_WEAK and w not in {".", ",", "'s"})
    typed = frozenset(_typed(text))
    is_over = bool(clauses) and all(_OVER.search(clause) for clause in clauses)
    return Statement(
        claims=tuple(dict.fromkeys(claims)),
        words=frozenset(ordered),
        ordered=ordered,
        typed=typed,
        names=_names(content),
        polarity="over" if is_over else "not" if _NEGATION.search(text) else "holds",
        modality="wish" if _WISH.search(text) else "past" if _PAST.search(text) else "fact",
        has_cue=bool(_NOW.search(text) or _CHANGE.search(text) or _CORRECTION.search(text)),
        is_additional=bool(_ADDITION.search(text)),
        old=tuple(dict.fromkeys(old)),
        anchors=frozenset(ordered) - ENGLISH_LIGHT - _GENERIC,
        is_event=_is_event(content),
        text=text,
        contrasts=frozenset(words) & ENGLISH_WORDS,
        marks=frozenset(ordered) - ENGLISH_LIGHT - _GENERIC
        | {claim.attribute for claim in claims}
        | {f"a {kind}" for kind, _ in typed if kind not in {"number", "date"}},
        is_one_of_many=bool(_ONE_OF_MANY.search(text)),
        language="en",
    )


_ONE_OF_MANY = re.compile(r"(?<!\S)(?:hav|get|schedul|book|attend|mak|giv|send|tak) a \S+")
_GENERIC = _folded(
    "day time year month week today 1 2 3 4 5 6 7 8 9 10 good bad new old use user team say not no "
    "main change move switch update start begin stop since from back thing something be's longer "
    "everything nothing best better now daily early late high low more less first last"
)
_EVENT = re.compile(
    r"\b(?:went|visited|bought|met|ran|saw|ate|attended|finished|watched|read a|flew|won|lost|found|wrote|made|"
    r"took|gave|spent|had|did|(?<!is )(?<!are )(?<!was )(?<!were )(?<!be )(?<!been )(?<!get )(?<!got )(?<!has )"
    r"(?<!have )[a-z]{2,}ed)\b(?! in\b)"
)


def _is_event(content: str) -> bool:
    """Say whether a statement tells what happened, which nothing that happens later replaces."""
    return bool(_EVENT.search(content))


_LEAD_IN = re.compile(
    r"^(?:" + "|".join(map(_pattern, (
        "actually", "by the way", "fyi", "update", "correction", "small correction", "remember that?",
        "note that?", "just so you know", "also", "well", "so", "hey", "ok", "okay", "yes", "please",
        "hm", "sorry", "user (?:say|mention|clarify|state|report|note|explain) that?", "user mean",
        "user ask for", "oops", "no", "it turn out that?", "in fact",
    ))) + r")(?: [,.])? "
)  # fmt: skip
_BREAK = re.compile(
    r"(?:^| )\.(?: |$)| , (?:but|and|so|now|then)? ?| but | and (?=(?:now|no longer|"
    + _pattern("move|join|switch|work|live|begin|leave|drink|use|take|get|bike|be|have|now|quit")
    + r")\b)| so that | since (?=\S+ (?!\d))"
)
_VERB = re.compile(
    r"^(?:" + _pattern("be|have|work|live|move|join|switch|use|like|begin|leave|drink|take|get|prefer"
                       "|now|no longer|bike|eat|go|do|not|run|play|drive|speak|own|quit|stop|plan|want"
                       "|need|study|read|write|buy|sell|formerly|pick up|cancel|deploy")
    + r")\b"
)  # fmt: skip


_FRONT = re.compile(
    r"^((?:" + _pattern("since|on|every|each|in|at|before|after|daily|weekly|during|as|for|from|when|by")
    + r")\b[^,.]*?) (?:, )?((?:user|team) (?!'s).*)$"
)  # fmt: skip


def _clauses(text: str) -> Iterator[str]:
    """Split a statement into clauses; one without a subject has that of the one before."""
    subject = "user"
    for part in _BREAK.split(text):
        clause = part.strip(" ,.")
        while _LEAD_IN.match(f"{clause} "):
            shorter = _LEAD_IN.sub("", f"{clause} ").strip()
            if shorter == clause:
                break
            clause = shorter
        if not clause:
            continue
        front = _FRONT.match(clause)
        if front:
            clause = f"{front[2]} {front[1]}"
        if _VERB.match(clause):
            clause = f"{subject} {clause}"
        found = re.match(
            r"(?P<s>\S+(?: 's \S+| \S+){0,3}?) (?:be|"
            + "|".join(map(_pattern, ("have", "work", "live", "move", "use", "like", "drive")))
            + r")\b",
            clause,
        )
        subject = found["s"] if found else "user" if clause.startswith("user") else subject
        yield clause


def _bare(clause: str) -> str:
    """Take the words of time and doubt out of a clause."""
    clause = re.sub(r"(?<!\S)no longer(?!\S)|(?<!\S)do not(?!\S)", " ", clause)
    clause = re.sub(r"(?<!\S)be not(?!\S)", "be", clause)
    clause = re.sub(rf"(?<!\S)(?:{_pattern('stop|quit|formerly|previously')})(?!\S)", " ", clause)
    clause = _NOW.sub(" ", _ADDITION.sub(" ", clause))
    clause = re.sub(
        r"(?<!\S)(?:really|realli|very|veri|alwai|usualli|also|still|mostli|mainli)(?!\S)",
        " ",
        clause,
    )
    return re.sub(r"\s+", " ", clause).strip(" ,.")


def _claims(clause: str) -> Iterator[Claim]:
    bare = _bare(clause)
    is_change = bool(_CHANGE.search(clause) or _NOW.search(clause) or _CORRECTION.search(clause))
    polarity = "over" if _OVER.search(clause) else "not" if _NEGATION.search(clause) else "holds"
    if _WISH.search(clause) and not re.search(_pattern("answer|would like"), clause):
        return
    seen: set[str] = set()
    for attribute, pattern, check in SENTENCES:
        found = pattern.match(bare)
        if not found:
            continue
        groups = found.groupdict()
        subject = groups.get("s") or ("team" if attribute == "size" else USER)
        if attribute.startswith("+"):
            attribute, polarity = attribute[1:], "holds"
        value, rest = _value(attribute, groups["v"])
        if check == "day":
            value, rest = _moment(value, rest)
        if attribute == "prefers":
            pair = sorted((value, _value(attribute, groups["o"])[0]))
            attribute = f"preferred of {pair[0]} and {pair[1]}"
        if not value or value in {"user", "it"} or (check and not _CHECKS[check](value)):
            continue
        if attribute == "age" and set(subject.split()) & (_SLOT | {"of"}):
            continue
        if seen and (attribute == "like" or attribute.startswith("relation:")):
            continue
        if attribute.startswith("relation:"):
            attribute, subject = "name", f"{subject} 's {groups['w']}"
        elif groups.get("w"):
            subject = f"{subject} {groups['w']}"
        if attribute in seen or (check == "where" and (seen or "user" in subject.split()[-1:])):
            continue
        seen.add(attribute)
        yield Claim(
            _key(subject), attribute, value, _is_single(attribute, subject), polarity,
            telling(rest.split()), is_change,
        )  # fmt: skip
    if not seen:
        slots = tuple(_slots(bare, polarity, is_change=is_change))
        yield from slots or _kinds(bare, polarity, is_change=is_change)


_MOMENT = re.compile(r"(?<!\S)(?:@\S+|\d\d:\d\d|\S+dai)(?!\S)")


def _moment(value: str, rest: str) -> tuple[str, str]:
    """Part a day and a time of day from the words beside it."""
    found = _MOMENT.findall(value)
    return (" ".join(found), f"{_MOMENT.sub(' ', value)} {rest}") if found else (value, rest)


def _is_single(attribute: str, subject: str) -> bool:
    if attribute == "name" and _key(subject) != USER:
        return False
    if attribute.startswith("preferred of") or attribute == "whereabouts":
        return True
    if attribute in {"deployment", "when", "plays", "fear", "allergy", "like", "dislike", "speaks"}:
        return attribute in {"deployment", "when"} and _key(subject) != USER
    if attribute == "car":
        return True
    return attribute not in {"learning", "school", "degree"} and (
        is_single(attribute) or attribute in {"when", "salary"}
    )


def _value(attribute: str, text: str) -> tuple[str, str]:
    """Part a value from what is told beside it."""
    whole = text.strip(" ,.")
    cut = _TAIL.sub("", f"{whole}")
    if attribute in _SHORT:
        cut = _SHORT_TAIL.sub("", cut)
    rest = whole[len(cut) :]
    value = re.sub(r"^(?:a|on|at|in|by|team 's|user 's) ", "", cut.strip(" ,."))
    value = re.sub(r" ,.*$", "", value)
    return value, rest


_SLOT_SWITCH = re.compile(
    r"^(?P<s>\S+(?: \S+){0,3}?) (?:" + _pattern("switch|change|move|update") + r") "
    r"(?:user 's |team 's )?(?P<y>\S+) (?:from (?P<o>.+?) )?to (?P<v>.+)$"
)


def _slots(bare: str, polarity: str, *, is_change: bool) -> Iterator[Claim]:
    """Read `the Y of X is V`, `X's Y was changed to V`."""
    for pattern in (_SLOT_SWITCH, _SLOT_CHANGE, _SLOT_OF):
        found = pattern.match(bare)
        if not found or (pattern is _SLOT_SWITCH and found["y"] not in _SLOT):
            continue
        words = [w for w in f"{found['s']} {found['y'] or ''}".split() if w not in {"'s", ","}]
        head = (found["y"] or found["s"]).split()[-1]
        if any(w in {"get", "do"} for w in words):
            continue
        is_favourite = any(w == CLASS_OF.get(lemma("favourite")) for w in words)
        if head not in _SLOT and not is_favourite:
            continue
        value, rest = _value("", found["v"])
        words.remove(head)
        subject = _key(" ".join(words))
        if value:
            yield Claim(subject, attribute_key(head), value, True, polarity, telling(rest.split()),
                        is_change or pattern is not _SLOT_OF)  # type: ignore[arg-type]  # fmt: skip
        return


_USE = re.compile(
    r"^(?P<s>\S+(?: \S+){0,5}?) (?:" + _pattern("use|run on|be on|write code in|write in|prefer|run|"
    "code in|work in|program in|develop in|switch to|move to|migrate to|track \\S+ in|be track in|"
    "install|browse with|work on|go through|go out through|be hav|take note in|keep note in|pay with|"
    "bank with|listen to music on|be write in|be build with|be test with|rely on|develop on|adopt|"
    "have|be|change to|upgrade to|be manage with|have a|use a|be a|chat on|"
    "communicate on|communicate via|communicate through") + r") (?:a )?(?P<v>.+)$"
)  # fmt: skip


_KIND_WORDS = _folded("editor ide browser phone database framework language system os tool app main "
                      "primary default daily driver shell terminal code coding")  # fmt: skip


def _kinds(bare: str, polarity: str, *, is_change: bool) -> Iterator[Claim]:
    """Read `X uses V` where V is of a known kind: what it uses of that kind."""
    found = _USE.match(bare)
    if not found:
        return
    member = KIND.match(found["v"])
    if not member:
        return
    kind = KIND_OF[member[0]]
    rest = found["v"][member.end() :]
    version = re.match(r" (\d+(?:\.\d+)*)", rest)
    value = member[0] + (version[0] if version else "")
    yield Claim(
        _key(found["s"]), kind, value, kind in SINGLE_KINDS, polarity,  # type: ignore[arg-type]
        telling(rest.replace(version[0] if version else "", "", 1).split()) - _KIND_WORDS, is_change,
    )  # fmt: skip


def _old(clause: str) -> Iterator[frozenset[str]]:
    """List what a clause says is over."""
    for pattern in (_SWITCH, _INSTEAD, _REPLACE, _FROM, _NOT_BUT):
        found = pattern.match(clause) if pattern is not _NOT_BUT else pattern.search(clause)
        if found and found["o"]:
            yield telling(_NOW.sub(" ", found["o"]).split())
    if _OVER.search(clause):
        words = telling(_OVER_WORDS.sub(" ", _NOW.sub(" ", clause)).split())
        if words:
            yield words


_OVER_WORDS = re.compile(
    r"(?<!\S)(?:" + "|".join(map(_pattern, (
        "no longer", "not", "do not", "anymore", "any more", "stop", "quit", "give up", "formerly",
        "gone", "be", "over", "die", "pass away", "break up with", "leave", "resign from", "cancel", "graduate from",
        "get rid of", "sell", "drop", "retire", "discontinue", "finish", "away", "dead", "abandon",
        "ditch", "no more", "longer", "in spring", "in summer", "in autumn", "in winter",
    ))) + r")(?!\S)"
)  # fmt: skip
_TYPED = (
    ("date", re.compile(r"(?<!\S)@\S+")),
    ("time", re.compile(r"(?<!\S)\d\d:\d\d(?!\S)")),
    ("version", re.compile(r"(?<!\S)\d+\.\d+(?:\.\d+)*(?!\S)")),
    ("email", re.compile(r"(?<!\S)[\w.+-]+@[\w.-]+(?!\S)")),
    ("url", re.compile(r"(?<!\S)https?://\S+")),
    ("path", re.compile(r"(?<!\S)[~/][\w./-]+")),
)
_COUNTED = re.compile(r"(?<!\S)(\d+(?:\.\d+)?)(?: (?!@)([a-z]\S*))?")
_PORT = re.compile(r"(?<!\S)port (\d+)")


def _typed(text: str) -> Iterator[tuple[str, str]]:
    for kind, pattern in _TYPED:
        yield from ((kind, value) for value in pattern.findall(text))
    for number, unit in _COUNTED.findall(text):
        known = unit and unit not in ENGLISH_WEAK and unit not in {".", ","}
        yield (f"count {unit}" if known else "number", number)
    for member in KIND.findall(text):
        yield KIND_OF[member], member
    for word in _SCALE.findall(text):
        yield f"scale {_SCALE_OF[word]}", word


_SCALE = re.compile(
    r"(?<!\S)(?:" + "|".join(sorted(map(re.escape, _SCALE_OF), key=len, reverse=True)) + r")(?!\S)"
)
_CAPITAL = re.compile(r"\b[A-Z][\w'\u2019-]*")


_NO_NAMES = frozenset(
    "I I'm I've I'd I'll User The My Our We A An In On At It It's This That He She They His Her Their "
    "There When Since After Before No Not Every Each From For With As Actually Also Now Please".split()
)


def _names(content: str) -> tuple[str, ...]:
    return tuple(
        CLASS_OF.get(lemma(name.lower()), lemma(name.lower()))
        for name in (re.sub(r"['\u2019]s$", "", match) for match in _CAPITAL.findall(content))
        if name not in _NO_NAMES
    )
