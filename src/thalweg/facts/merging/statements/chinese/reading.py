"""Chinese statements read."""

import re
from collections.abc import Iterator

from thalweg.facts.merging.statements.chinese import cues
from thalweg.facts.merging.statements.chinese.claims import claims, subject_words
from thalweg.facts.merging.statements.chinese.tokens import spelt, tokens
from thalweg.facts.merging.statements.chinese.values import typed
from thalweg.facts.merging.statements.claims import USER, Claim, Statement
from thalweg.facts.merging.statements.contrasts import HAN_WORDS
from thalweg.facts.merging.statements.tables.chinese_cues import NO_ANCHOR


def read(content: str) -> Statement:
    """Read a Chinese statement; see `read_statement`."""
    text = spelt(content)
    parts = cues.clauses(text)
    claimed = tuple(dict.fromkeys(_claims(parts, text)))
    ordered = tokens(cues.ADDITION.sub("", cues.NOW.sub("", text)))
    values, anchors = frozenset(typed(text)), _anchors(text)
    is_over = bool(parts) and all(cues.OVER.search(part) for part in parts)
    return Statement(
        claims=claimed,
        words=frozenset(ordered),
        ordered=ordered,
        typed=values,
        names=tuple(re.findall(r"[a-z][\w.+#-]*", text)),
        polarity="over" if is_over else "not" if cues.is_negated(text) else "holds",
        modality="wish" if cues.WISH.search(text) else "past" if cues.PAST.search(text) else "fact",
        has_cue=cues.is_change(text),
        is_additional=bool(cues.ADDITION.search(text)),
        old=tuple(dict.fromkeys(words for part in parts for words in _over(part))),
        anchors=anchors,
        is_event=bool(cues.EVENT.search(text)),
        contrasts=frozenset(_CONTRAST.findall(_told_formally(text))),
        marks=anchors
        | {word for word in ordered if len(word) > 1}
        | {claim.attribute for claim in claimed}
        | {f"a {kind}" for kind, _ in values if kind not in {"number", "date"}},
        text=text,
        language="zh",
    )


def subject_of(subject: str) -> str:
    """Fold a subject as a learner gave it."""
    return subject_words(spelt(subject))


def _claims(parts: list[str], text: str) -> Iterator[Claim]:
    """Read the clauses; one without a subject has that of the first that has one."""
    is_corrected, subject = bool(cues.CORRECTION.search(text)), ""
    for part in parts:
        found = tuple(claims(part, subject, is_corrected=is_corrected))
        if found and found[0].subject != USER:
            told = re.match(r"^(.{0,8}?)(?:在|是|有|用|叫|住|的)", part)
            subject = subject or (told[1] if told else "")
        yield from found


_CONTRAST = re.compile(f"(?=({'|'.join(sorted(HAN_WORDS, key=len, reverse=True))}))")
_FORMAL = {
    **dict.fromkeys(("妈妈", "我妈"), "母亲"),
    **dict.fromkeys(("爸爸", "我爸"), "父亲"),
    **dict.fromkeys(("老婆", "媳妇"), "妻子"),
    "老公": "丈夫",
    "家里": "在家",
    "男友": "男朋友",
    "女友": "女朋友",
    "另一半": "对象",
    "主治医生": "医生",
}


def _told_formally(text: str) -> str:
    for word, name in _FORMAL.items():
        text = text.replace(word, name)
    return text


_NO_ANCHOR = re.compile(NO_ANCHOR)


def _anchors(text: str) -> frozenset[str]:
    """List what two statements on the same matter would share: pairs of letters, other words."""
    found: set[str] = set()
    for part in _NO_ANCHOR.sub(" ", text).split():
        for run in re.findall(r"[\u3400-\u9fff]+", part):
            found.update(run[i : i + 2] for i in range(len(run) - 1))
        found.update(re.findall(r"[a-z][a-z0-9_.+#-]+", part))
    return frozenset(found)


_ENDS = (
    re.compile(
        r"(?:从|由|把)([^,]{1,12}?)(?:改成|改为|改到|换成|换到|搬到|迁到|迁移到|转到|切换到|升级到|变成|调到|"
        "跳槽到|到)"
    ),
    re.compile(
        r"^(.{1,10}?)(?:从|自)?(?:去年|今年|上个?月|前年)?(?:[春夏秋冬]天)?(?:起|开始|以后)?就?"
        "没有?再.{0,2}了?$"
    ),
    re.compile(r"(?:^|,)(?:不是|并非)([^,而]{1,12})"),
    re.compile(
        r"^(.{1,14}?)(?:已经|上个?月|上周|昨天|今天|去年)?(?:停用|走|下线|废弃|弃用|取消|去世|转岗|离职|卖掉|没)了?$|"
        r"(?:不用|不吃|不喝|不在|不去|不再用|不再|戒|放弃|取消|停用|卖掉|告别|离开|不养|不做|不玩|不看|不学|不抽)了?"
        r"([^,了]{1,10})了?$"
        r"|从(.{1,10}?)(?:离职|辞职|退出|离开|出院)|[和跟与]([^,]{1,8}?)(?:分手|离婚|绝交)"
    ),
)


def _over(clause: str) -> Iterator[frozenset[str]]:
    """List what a clause says is over."""
    for pattern in _ENDS:
        found = pattern.search(clause)
        if found:
            words = next(group for group in found.groups() if group)
            told = frozenset(tokens(cues.NOW.sub("", words)))
            if told:
                yield told
