"""Check the statements that a line attributes to the user against the user's messages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thalweg.engine.entries import Message
from thalweg.engine.summaries.words import content_words, has_negation, normalized_line

MIN_WORD_SHARE = 0.7
"""Share of the words of a claim that must occur together in one message of the user."""
PASSAGE_WORDS = 160
"""A longer message is compared in passages: thousands of words would contain any claim."""

_USER_NOUNS = (
    r"(?<!\ba )(?<!every )(?<!each )(?<!\bany )(?:the |this )?"
    r"(?:user|human|customer|client|operator|requester|owner|maintainer)"
)
_SPEECH_VERBS = (
    r"(?:said|says|asks?|asked|asking|wants?|wanted|wish(?:es|ed)?|needs?|needed|confirm\w*"
    r"|approv\w+|agree[sd]?|accept\w*|reject\w*|declin\w+|request\w*|instruct\w*|told|tells"
    r"|insist\w*|prefer\w*|requir\w+|decid\w+|chose|chooses|pick(?:s|ed)|select\w*|allow\w*"
    r"|permit\w*|authori[sz]\w+|ok(?:ay)?(?:s|ed|'d)|stat(?:es|ed)|mention\w*|not(?:es|ed)"
    r"|report\w*|complain\w*|clarif\w+|specif\w+|emphasi[sz]\w+|stress\w*|warn\w*|forb\w+"
    r"|would like|like[sd]?|expects?|expected|demand\w*|suggest\w*|propos\w+|explain\w*|ask|want"
    r"|answered|replied|responded|wrote|typed|gave|granted|signed off|acknowledg\w+|ordered)"
)
_USER_ACTS = (
    r"(?:request|approval|confirmation|instruction|permission|preference|decision|consent|wish"
    r"|order|answer|reply|words|feedback|requirement|ok|go-ahead)s?"
)
_NOT_MODAL = r"(?!(?:may|might|could|can|will|would not|if)\b)"
_CLAIM = re.compile(
    rf"\b{_USER_NOUNS}(?:['\u2019]s)?\s+(?:{_NOT_MODAL}[\w'\u2019]+\s+){{0,3}}?{_SPEECH_VERBS}\b"
    rf"|\b{_SPEECH_VERBS}(?:\s+\w+){{0,2}}?\s+(?:by|from)\s+{_USER_NOUNS}\b"
    rf"|\baccording to {_USER_NOUNS}\b"
    rf"|\b{_USER_NOUNS}(?:['\u2019]s)?\s+(?:\w+\s+){{0,2}}?{_USER_ACTS}\b"
    rf"|^\W*(?:user|human|customer|用户|客户)\W{{0,3}}[:\uff1a]"
    r"|\b(?:permission|approval|consent|confirmation|go-ahead|green light|sign-off)"
    r"\s+(?:\w+\s+){0,2}?(?:granted|given|received|obtained)\b"
    r"|\b(?:got|received|have|has|had|given|obtained)\s+(?:the |an? )?(?:explicit |user )?"
    r"(?:permission|approval|consent|confirmation|go-ahead|green light|sign-off)\b"
    r"|^\W*(?:confirmed|approved|agreed|authori[sz]ed)\s*(?:[:\uff1a(\"“]|$)"
    r"|(?:用户|客户|顾客)(?:[^\s。,;\uff0c\uff1b]{0,4})?(?:说|要求|希望|想|确认|批准|同意|表示|指示"
    r"|询问|请求|提出|需要|认为|选择|决定|允许|授权|强调|提到|提醒|拒绝|反对|偏好|喜欢|问|回复|回答|告知|指出|明确)"
    r"|(?:经|应|按|按照|根据|得到|获得)(?:了)?(?:用户|客户)"
    r"|(?:用户|客户)的(?:要求|请求|确认|同意|许可|指示|意见|偏好)"
    r"|ユーザー(?:は|が|の要望|の指示|の確認)"
    r"|\b(?:el usuario|la usuaria|l['\u2019]utilisat\w+|der (?:be)?nutzer|o usu[áa]rio"
    r"|l['\u2019]utente)\b"
    r"|пользовател\w+ (?:\w+ )?(?:сказал|просил|попросил|хочет|подтвердил|одобрил)",
    re.IGNORECASE,
)
_APPROVAL = re.compile(
    r"\b(?:confirm|approv|agree|accept|authori[sz]|permi(?:t|ss)|allow|ok(?:ay)?(?:s|ed|'d)\b|consent"
    r"|go-ahead|green light|sign(?:ed)?[- ]off|granted)|确认|批准|同意|允许|授权|许可",
    re.IGNORECASE,
)
_WITHHELD_APPROVAL = re.compile(
    r"\b(?:not|never|no|hasn['\u2019]t|didn['\u2019]t|hadn['\u2019]t|awaiting"
    r"|waiting for|pending|without)"
    r"(?:\s+\w+){0,2}\s+(?:confirm|approv|agree|accept|authori[sz]|permi|consent)"
    r"|(?:尚未|还没有?|未经?|没有|等待)(?:[^\s]{0,4})?(?:确认|批准|同意|允许|授权|许可)",
    re.IGNORECASE,
)
_AFFIRMATION = re.compile(
    r"\b(?:y|yes|yep|yeah|yup|ok|okay|sure|go ahead|go for it|do it|approved?|confirm(?:ed)?"
    r"|agreed?|accept(?:ed)?|lgtm|looks good|sounds good|perfect|correct|exactly|fine|proceed"
    r"|please|allow(?:ed)?|permission|ship it|continue)\b"
    r"|可以|好的|好吧|行吧|是的|对的|同意|确认|批准|没问题|继续|允许|はい|いいよ|お願い",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\s*(?:\*\*|__)[^*_]{1,80}(?:\*\*|__)\s*[:\uff1a]\s*"
    r"|^\s*(?:\*\*|__)[^*_]{1,80}[:\uff1a](?:\*\*|__)\s*"
)
"""A bold title at the beginning of a line: the model's own label for the text after it."""
_QUOTE = re.compile(
    r"[\"“]([^\"“”\n]{1,400})[\"”]|「([^「」\n]{1,400})」|\u2018([^\u2018\u2019\n]{4,400})\u2019"
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。\uff01\uff1f\uff1b])|\n+")
_CLAUSE_END = re.compile(
    r"(?<=[.!?;,])\s+|(?<=[^\x00-\x7f][,;!?])|(?<=[\u3002\uff01\uff1f\uff1b\uff0c])|\s+(?=but\b)|\n+"
)
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage of a user's message."""

    words: frozenset[str]
    text: str
    clauses: tuple[tuple[frozenset[str], bool], ...]
    """The words of each clause, and whether it contains a negation."""


@dataclass(frozen=True, slots=True)
class UserMessages:
    """The user's messages in a source, indexed."""

    passages: tuple[_Passage, ...]
    keys: tuple[str, ...]
    """Every message, normalized by `normalized_line`."""
    sentences: frozenset[str]
    """Every sentence, normalized by `normalized_line`."""

    @classmethod
    def of(cls, source: Iterable[Message]) -> "UserMessages":
        """Index the messages that the user wrote."""
        texts = [m.text for m in source if m.is_request]
        passages = tuple(passage for text in texts for passage in _passages(text))
        sentences = frozenset(
            normalized_line(s) for text in texts for s in _SENTENCE_END.split(text)
        )
        return cls(passages, tuple(f" {normalized_line(text)} " for text in texts), sentences)

    def fault(self, line: str, *, is_user_section: bool) -> str:
        """Return the fault of a line as a claim about the user; empty if there is none.

        Args:
            line: A line of a summary.
            is_user_section: Whether the line is in a section for the user's own words.
        """
        for sentence in _sentences(_LABEL.sub("", line)):
            is_claim = _CLAIM.search(sentence) is not None and not _denies_approval(sentence)
            if (is_claim or is_user_section) and (
                fault := self._fault(sentence, is_claim=is_claim)
            ):
                return fault
        return ""

    def _fault(self, sentence: str, *, is_claim: bool) -> str:
        quotes = [next(filter(None, match.groups())) for match in _QUOTE.finditer(sentence)]
        for quote in quotes:
            if not self._is_verbatim(quote):
                return f"{quote!r} is in no message of the user"
        claim_text = _CLAIM.sub(" ", sentence) if is_claim else sentence
        claim_words, is_approval = content_words(claim_text), _APPROVAL.search(sentence) is not None
        if (
            quotes
            and not (is_claim and is_approval)
            and set(claim_words) <= {word for quote in quotes for word in content_words(quote)}
        ):
            return ""
        if not is_claim and (not claim_words or normalized_line(sentence) in self.sentences):
            return ""
        if not claim_words:
            return "no words of the user support it"
        needs_approval = is_claim and is_approval
        if any(
            _supports(passage, claim_text, claim_words, needs_approval=needs_approval)
            for passage in self.passages
        ):
            return ""
        return "no message of the user supports it"

    def _is_verbatim(self, quote: str) -> bool:
        normalized = normalized_line(quote)
        spaced = normalized if not normalized.isascii() else f" {normalized} "
        return bool(normalized) and any(spaced in message for message in self.keys)


def _sentences(line: str) -> list[str]:
    """Split a line into claims: everything after `the user said:` is one claim."""
    claim = _CLAIM.search(line)
    if claim and (
        ":" in line[claim.start() : claim.end() + 2]
        or "\uff1a" in line[claim.start() : claim.end() + 2]
    ):
        return [line]
    return [sentence for sentence in _SENTENCE_END.split(line) if sentence.strip()]


def _denies_approval(sentence: str) -> bool:
    """Return whether a sentence states that an approval is missing, which needs no proof."""
    return (
        _APPROVAL.search(sentence) is not None and _WITHHELD_APPROVAL.search(sentence) is not None
    )


def _passages(text: str) -> list[_Passage]:
    clauses = [s for s in _CLAUSE_END.split(text) if s.strip()]
    clause_words = [(clause, content_words(clause)) for clause in clauses]
    total = sum(len(words) for _, words in clause_words)
    if total <= 2 * PASSAGE_WORDS:
        return [_passage(clause_words)] if clause_words else []
    passages: list[_Passage] = []
    pending: list[tuple[str, list[str]]] = []
    pending_count = 0
    for clause, words in clause_words:
        pending.append((clause, words))
        pending_count += len(words)
        if pending_count >= PASSAGE_WORDS:
            passages.append(_passage(pending))
            pending = pending[len(pending) // 2 :] if len(pending) > 1 else []
            pending_count = sum(len(words) for _, words in pending)
    if pending:
        passages.append(_passage(pending))
    return passages


def _passage(clause_words: Sequence[tuple[str, list[str]]]) -> _Passage:
    clauses = tuple((frozenset(words), has_negation(text)) for text, words in clause_words)
    words = frozenset(word for _, words in clause_words for word in words)
    return _Passage(words, "\n".join(text for text, _ in clause_words), clauses)


def _supports(passage: _Passage, line: str, words: Sequence[str], *, needs_approval: bool) -> bool:
    distinct_words = set(words)
    if len(distinct_words & passage.words) < MIN_WORD_SHARE * len(distinct_words):
        return False
    numbers = set(_DIGITS.findall(line))
    if not numbers <= set(_DIGITS.findall(passage.text)):
        return False
    if needs_approval and not _AFFIRMATION.search(passage.text):
        return False
    shares = [(len(distinct_words & clause), denied) for clause, denied in passage.clauses]
    max_share = max(share for share, _ in shares)
    if has_negation(line):
        return any(denied and 2 * share >= max_share for share, denied in shares)
    return any(not denied for share, denied in shares if share == max_share)
