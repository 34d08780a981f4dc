"""What Chinese clauses claim: each sentence of the table that fits gives one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from thalweg.facts.merging.statements.attributes import attribute_key, is_single
from thalweg.facts.merging.statements.chinese import cues
from thalweg.facts.merging.statements.chinese.tokens import KIND, KIND_OF, tokens
from thalweg.facts.merging.statements.claims import USER, Claim, Manner
from thalweg.facts.merging.statements.tables.chinese_sentences import SENTENCES
from thalweg.facts.merging.statements.tables.kinds import SINGLE_KINDS
from thalweg.facts.merging.statements.tables.nouns import (
    CHINESE_IS,
    CHINESE_OCCUPATIONS,
    CHINESE_SLOTS,
)
from thalweg.facts.merging.statements.tables.rows import rows

_CHECKS = {
    "": re.compile("."),
    "job": re.compile(rf".*(?:{CHINESE_OCCUPATIONS})$"),
    "name": re.compile(r"[\u3400-\u9fffa-z· ]{1,12}$"),
    "place": re.compile(r"[^\d@].*"),
    "company": re.compile(r"(?!.*(?:家$|远程|\d\d:))."),
    "when": re.compile(r"(?:@|\d\d:|周[1-7]|下周|每周|明天|.*\d\d:\d\d).*"),
}
_RELATIVE = re.compile(
    ".*(?:妹|姐|哥|弟|妈|爸|儿|女|老婆|老公|妻|夫|友|对象|另一半|狗|猫|老板|邻居|同事|导师|伴侣|宠物|犬)"
)
_TAIL = re.compile("(?:[,。;、]|因为|所以|以便|才|就好|的人|呢|了)+.*$|(?:的|了|吧|呀)$")
_SAME_VALUES = {
    "结婚": "已婚", "离异": "离婚", "未婚": "单身", "素食": "素", "全素": "纯素",
}  # fmt: skip
_THIS_CENTURY = "30"


@dataclass(frozen=True, slots=True)
class _Sentence:
    attribute: str
    pattern: re.Pattern[str]
    check: str


def _sentences() -> Iterator[_Sentence]:
    for row in rows(SENTENCES):
        attribute, _, text = row.partition(" | ")
        check = re.search(r"V:(\w+)", text)
        text = text.replace(check[0], "V") if check else text
        text = text.replace("S", r"(?P<s>.{0,14}?)", 1)
        text = text.replace("V", r"(?P<v>.+)" if text.endswith("V") else r"(?P<v>.+?)", 1)
        yield _Sentence(attribute, re.compile(f"^{text}"), check[1] if check else "")


_SENTENCES = tuple(_sentences())


def claims(clause: str, subject: str, *, is_corrected: bool) -> Iterator[Claim]:
    """List what a clause claims.

    Args:
        clause: Of a spelt statement.
        subject: Of the clauses before it, for one that names none.
        is_corrected: Whether the statement is told as a correction.
    """
    if cues.WISH.search(clause):
        return
    bare = cues.bare(clause)
    manner = Manner(
        "over" if cues.OVER.search(clause) else "not" if cues.is_negated(clause) else "holds",
        is_corrected or cues.is_change(clause),
        is_corrected,
    )
    seen: set[str] = set()
    for sentence in _SENTENCES:
        found = sentence.pattern.match(bare)
        if found and not _is_out_of_place(sentence.attribute, found, seen):
            claim = _claim(sentence, found, subject, manner)
            if claim:
                seen.add(claim.attribute)
                yield claim
    if not seen - {"birth year", "age"}:
        yield from _slot(bare, subject, manner)
        yield from _replaced(bare, subject, manner)
        yield from _used(bare, subject, manner)


def _is_out_of_place(attribute: str, found: re.Match[str], seen: set[str]) -> bool:
    """Say whether a sentence that fits nearly anything fits only because others do not."""
    if attribute == "name":
        subject = found["s"]
        is_told = re.search("叫|名", found[0])
        return not is_told or subject.endswith("是") or not (
            subject in {"我", ""} or _RELATIVE.match(subject)
        )  # fmt: skip
    if attribute == "when":
        return "deadline" in seen or bool(_SLOTTED.match(found.string))
    return attribute in seen


def _claim(sentence: _Sentence, found: re.Match[str], default: str, manner: Manner) -> Claim | None:
    """Read the claim of a sentence that fits; nothing where its value cannot be one."""
    value = _value(found["v"])
    if not value or not _CHECKS[sentence.check].match(value):
        return None
    groups = found.groupdict()
    if sentence.attribute == "birth year" and len(value) == len("92"):
        value = f"{'20' if value < _THIS_CENTURY else '19'}{value}"
    subject = subject_words((groups.get("s") or default) + groups.get("x", ""))
    return Claim(
        subject=subject,
        attribute=sentence.attribute,
        value=_folded(value),
        is_single=_is_single(sentence.attribute),
        polarity=manner.polarity,
        is_change=manner.is_change,
        is_instead=sentence.attribute == "name" and manner.is_correction,
    )


def _value(text: str) -> str:
    value = _TAIL.sub("", text).strip()
    return _SAME_VALUES.get(value, value)


def _folded(value: str) -> str:
    return "".join(tokens(value)) or value


_SEVERAL = frozenset(("allergy", "fear", "speaks", "learning", "like", "dislike", "plays"))
_ONE_AT_A_TIME = frozenset(("name", "surname", "whereabouts", "when", "cadence", "reviewer"))


def _is_single(attribute: str) -> bool:
    return attribute not in _SEVERAL and (attribute in _ONE_AT_A_TIME or is_single(attribute))


_SLOTTED = re.compile(
    r"^(?P<s>.{0,16}?)的?(?P<y>(?:最喜欢的|最爱的|首选的?)[^是]{1,6}|"
    rf"{CHINESE_SLOTS})(?:已经)?(?:{CHINESE_IS})(?:了|着)?(?P<v>.+)$"
)


def _slot(bare: str, default: str, manner: Manner) -> Iterator[Claim]:
    """Read `X的Y是V`, `X的Y改成V`."""
    found = _SLOTTED.match(bare)
    value = _value(found["v"]) if found else ""
    if found and value:
        yield Claim(
            subject=subject_words(found["s"] or default),
            attribute=attribute_key(found["y"]),
            value=_folded(value),
            is_single=True,
            polarity=manner.polarity,
            is_change=manner.is_change,
        )


_IS = re.compile(r"^(?P<s>[^是]{2,10})是(?P<v>[^是]+)$")
_BECAME = re.compile(r"^(?P<s>[^换改变调]{2,10})(?:换成|改成|改为|变成|调整为)了?(?P<v>.+)$")
_DOES = re.compile(r"^(?P<s>.{0,6}?)(?P<instead>改)?(?P<y>[喝吃坐骑看学玩穿抽])(?P<v>.+)$")


def _replaced(bare: str, default: str, manner: Manner) -> Iterator[Claim]:
    """Read `X是V`, and `X换成V` that replaces it; `喝V`, and `改喝V`."""
    found = _BECAME.match(bare) or _IS.match(bare) or _DOES.match(bare)
    if not found or not _value(found["v"]):
        return
    groups = found.groupdict()
    yield Claim(
        subject=subject_words(found["s"] or default),
        attribute=groups.get("y") or "what it is",
        value=_folded(_value(found["v"])),
        polarity=manner.polarity,
        is_change=manner.is_change,
        is_instead=bool(groups.get("instead")) or found.re is _BECAME,
    )


_USES = re.compile(
    "^(?P<s>.{0,16}?)(?:是|使用|用的是|用的|用|采用|改用|换成了?|换用|换了|切换到了?|迁移到了?|转到|转用|搬到了?|"
    "升级到了?|装的是|重装成了?|开一辆|开|跑在|运行在|部署在|走|拿|精通|买了|买|发到|喜欢用|偏爱|养了?)(?P<v>.+)$"
)
_NEAR = 3
_KIND_WORDS = frozenset(
    (
        *("编辑器", "数据库", "框架", "语言", "系统", "工具", "软件", "浏览器", "手机号"),
        *"代码写编程器数据库框架",
    )
)


def _used(bare: str, default: str, manner: Manner) -> Iterator[Claim]:
    """Read `X用V` where V is of a known kind: what X uses of that kind."""
    used = _USES.match(bare)
    member = KIND.search(used["v"]) if used else None
    if not used or not member or member.start() > _NEAR:
        return
    rest = used["v"][member.end() :]
    version = re.match(r" ?(\d+(?:\.\d+)*)", rest)
    kind, slot = KIND_OF[member[0]], _SLOTTED.match(bare)
    yield Claim(
        subject=subject_words((slot or used)["s"] or default),
        attribute=kind,
        value=f"{member[0]} {version[1]}" if version else member[0],
        is_single=kind in SINGLE_KINDS,
        polarity=manner.polarity,
        rest=frozenset(tokens(_TAIL.sub("", rest[version.end() if version else 0 :])))
        - _KIND_WORDS,
        is_change=manner.is_change,
    )


_NOT_SUBJECT = re.compile(
    r"^(?:用户|本人|我|咱)的?家?|^(?:在|把|将|对(?!象)|让|希望|要求|想要|喜欢)|"
    "(?:已经|已|都|就|也|是|的|把|现在|全部|从此)+$"
)
_TEAM = re.compile("^(?:我们|咱们|我司|本组)的?(?:团队|组|这边|公司)?|^团队|^小组")


def subject_words(subject: str) -> str:
    """Give the key of a subject: the user, the team, or the words for who it is."""
    text = subject.strip(" ,")
    if _TEAM.match(text):
        return f"team {_TEAM.sub('', text)}".strip()
    before = None
    while before != text:
        before, text = text, _NOT_SUBJECT.sub("", text).strip()
    return "".join(tokens(text)) or text or USER
