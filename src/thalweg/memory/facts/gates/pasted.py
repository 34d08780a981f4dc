"""Pasted text without a mark of its own: what comes after "summarize this:" and its like."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from thalweg.memory.facts.gates.stretches import TAKEN, QuotedSpan, lines, paragraph_end


def find_pasted(text: str) -> list[QuotedSpan]:
    """Return the parts of a message from other authors: passed on, forwarded or reported.

    Example:
        >>> find_pasted("Summarize this: the moon is made of cheese.")
        [QuotedSpan(start=15, end=43, kind='pasted text')]
    """
    return [*_handed_over(text), *_handed_over_before(text), *_set_off(text), *_mails(text),
            *_letters(text), *_transcripts(text), *_reported(text)]  # fmt: skip


_STRONG = (
    r"(?:summari[sz]e|sum(?:ming)? up|fix (?:the|my|any) (?:grammar|spelling|typos|wording"
    r"|mistakes)|what (?:does|do) (?:it|this|that|these|they) (?:mean|say)|tl;?dr|translate"
    r"|proof-?read|paraphrase|rephrase|reword|copy-?edit|spell-?check|fact-?check"
    r"|fasse?\b.{0,60}\bzusammen|zusammenfassen|übersetz\w*|korrigier\w*|résum(?:e|ez|er)\b"
    r"|tradui(?:s|sez|re|t)\b|corrige\w*|resum(?:e|a|ir|as)\b|traduc(?:e|ir|i)\b|traduz(?:a|ca"
    r"|ir)?\b|tradú\w*|riassum\w+|перевед\w*|переведи\w*|перескажи\w*|резюмируй\w*|przetłumacz\w*"
    r"|streść|vertaal|vat\b.{0,40}\bsamen)|(?:(?<!做)(?<!是)(?<!当)(?<!从事)(?:翻译|总结|概括"
    r"|归纳|润色|改写|校对|缩写)|翻成|译成)(?!员|工作|公司)|要約|翻訳して|訳して|添削|校正して"
    r"|요약|번역"
)
"""What is only ever done to a text that is there."""
_WEAK = (
    r"\b(?:rewrite|polish|correct|edit|shorten|analy[sz]e|review|explain|interpret|decode|extract"
    r"|classify|reply|respond|answer|check|read|look at|see|critique|grade|improve|comment|format"
    r"|thoughts|opinion|think|mean|make of|says?|respond to|kommentier\w*|erklär\w*|lies|prüf\w*"
    r"|explique\w*|analyse\w*|revis[ae]\w*|analiza|объясни\w*|проверь\w*)\b|看看|看下|看一下|分析"
    r"|解释|检查|审阅|评价|回复|读一下|怎么看|什么意思|修改|整理|見て|説明|確認"
)
_THIS = (
    r"\b(?:this|these|that|those|th(?:e|is)? following|below|above|attached|pasted|the (?:text"
    r"|article|e-?mail|mail|message|letter|page|paragraph|passage|post|snippet|ticket|log|output)"
    r"|dies\w*|folgend\w*|unten|oben|ce(?:tte|t|ci)?|ces|suivante?s?|est[eao]s?|siguientes?"
    r"|aqueste|seguintes?|quest[oaei]|seguente|эт(?:от|о|у|и)|следующ\w+)\b|以下|下面|上面"
    r"|这(?:段|篇|封|个|份|句|条|些|里)|该文|この|以下の|次の|이|다음"
)
_TASK = re.compile(rf"(?:\b|(?<=[^\W\d_]))(?:{_STRONG})", re.IGNORECASE)
_WEAK_TASK = re.compile(
    rf"(?:(?:{_WEAK})[^\n:：]{{0,60}}?(?:{_THIS}))|(?:(?:{_THIS})[^\n:：]{{0,40}}?(?:{_WEAK}))",
    re.IGNORECASE,
)
_ONE_LINE = 240
"""Longest rest of a line that follows a task's full stop and is still taken for the user's."""


def _handed_over(text: str) -> Iterator[QuotedSpan]:
    """Yield the text after a task about it: all of it, in any form."""
    stops = [stop.span() for stop in _STOP.finditer(text)]
    for form in (_TASK, _WEAK_TASK):
        for found in form.finditer(text):
            if (start := _after_task(text, found.end(), stops)) is None:
                continue
            end = _end_of_report(text, start)
            yield QuotedSpan(start, end, "pasted text")
            if end == len(text) and start <= found.end():
                break  # what later tasks hand over is in it


_COLON = re.compile(r"[^\n:：.。!?！？;；]{0,120}[:：](?!//|\d)")
_STOP = re.compile(r"[.!?。！？]\s+|[。！？]")


def _after_task(text: str, place: int, stops: Sequence[tuple[int, int]]) -> int | None:
    """Find where the text begins that a task is about; `None` where none seems to follow."""
    if colon := _COLON.match(text, place):
        return colon.end()
    line_end = text.find("\n", place)
    line_end = len(text) if line_end < 0 else line_end
    if text[line_end:].strip():
        return line_end
    at = bisect_left(stops, (place, 0))
    start = stops[at][1] if at < len(stops) else line_end
    return start if line_end - start > _ONE_LINE else None


_ANNOUNCED = re.compile(r"[:：][ \t]*\n\s*(?=\S)")
_ITEM = re.compile(r"[-*•][ \t]|\d{1,2}[.)）、][ \t]*")


def _set_off(text: str) -> Iterator[QuotedSpan]:
    """Yield the text below a line that ends in a colon, for any wording of that line.

    A list is the speaker's own, and so is text after a remark: `Some context:`.
    """
    done = 0
    for found in _ANNOUNCED.finditer(text):
        line = text.rfind("\n", 0, found.start()) + 1
        if line < done:  # the line began in the match before
            continue
        words = _last_words(text[line : found.start()])
        if not words:
            continue
        done = found.end()
        if not _ITEM.match(text, done) and not _REMARK.fullmatch(words.strip()):
            yield QuotedSpan(done, _end_of_report(text, done), "pasted text")


def _last_words(line: str) -> str:
    """Return what follows the last full stop, exclamation or question mark."""
    return line[max(line.rfind(mark) for mark in ".!?。！？") + 1 :]


_POLITE = (
    r"(?:(?:can|could|would|will) (?:you|u)|please|pls|kindly|now|ok(?:ay)?|hey|kannst du|bitte"
    r"|peux-tu|puedes|帮我|请|麻烦|帮忙|能不能|可以)"
)
_LAST_TASK = re.compile(
    rf"^[\s,，]*(?:{_POLITE}[\s,，]*)*(?:{_STRONG}"
    rf"|(?:{_WEAK})[^\n]{{0,30}}?(?:{_THIS}))[^\n]{{0,160}}$"
    r"|^[^\n]{0,80}\b(?:above|the text above)\b[^\n]{0,80}$|^[^\n]{0,40}(?:上面|以上)[^\n]{0,40}$"
    r"|^[\s,]*(?:what does (?:this|that|it) (?:say|mean)|(?:any )?thoughts\b|tl;?dr\b)[^\n]{0,60}$",
    re.IGNORECASE,
)


def _handed_over_before(text: str) -> Iterator[QuotedSpan]:
    """Yield the text before a last line that requests a task about it."""
    body = text.rstrip()
    start = body.rfind("\n") + 1
    if start and _LAST_TASK.match(body[start:]):
        yield QuotedSpan(0, start, "pasted text")


_HEADER = re.compile(
    r"[ \t*]*(?:From|To|Cc|Bcc|Sent|Date|Subject|Reply-To|Von|An|Gesendet|Datum|Betreff|De|À|A"
    r"|Envoyé|Objet|Para|Enviado|Asunto|Assunto|Da|Inviato|Oggetto|От|Кому|Дата|Тема|发件人"
    r"|收件人|抄送|发送时间|日期|时间|主题|寄件人|收件者|主旨|差出人|宛先|送信日時|件名|보낸사람"
    r"|받는사람|제목)[ \t*]*[:：][ \t*]*\S",
    re.IGNORECASE,
)


def _mails(text: str) -> Iterator[QuotedSpan]:
    """Take a mail, from its first header or the line that forwards it, to the end."""
    last: int | None = None
    for start, end in lines(text):
        is_header = _HEADER.match(text, start, end) is not None
        if is_header and last is not None:
            yield QuotedSpan(last, len(text), "quoted text")
            break
        last = start if is_header else None


_NAME = r"([^\s:：\[\](){}<>\"'`*_/\\.,][^\n:：.!?。！？/\\,，]{0,28}?)"
_LABEL = re.compile(
    r"[ \t]*(?:[-*•][ \t]+)?[*_]{0,2}"  # a list's mark, bold
    rf"{_NAME}"
    r"[*_]{0,2}[:：](?!//)[*_]{0,2}[ \t]*(?=\S|$)"
)
_REMARK = re.compile(
    r"(?:(?:a |one |some |quick |side |small |important |my |our |about |for |just |big |good "
    r"|bad |great |sad |other |another |last |final |more |new )*(?:news"
    r"|announcement|notes?|p\.?s|fyi|updates?|corrections?|context|background|about me|me|about us"
    r"|goals?|questions?|summary|btw|by the way|edit|reminder|important|info|intro|introduction"
    r"|problem|preferences?|thing|more|record|future reference|reference|reason|facts?|details?"
    r"|setup|stack|project|rules?|addition|anyway|also|hi|hello|hey|thanks|so|remember"
    r"|remember this|todo|name|job|role|work|hobbies|likes|dislikes|location|age|e-?mail|phone"
    r"|city|status|plan|task|issue|situation|environment|diet|allergies|languages?|editor"
    r"|situación|contexto|nota|hinweis|kontext|info|übrigens|contexte|remarque)(?: (?:is|to|on|of"
    r"|for|about|the|this)\b.*)?)|.*(?:补充|另外|顺便|背景|更正|说明|备注|注意|提醒|情况|目标"
    r"|问题|关于|信息|总之|其实|一点|记住|记一下|记得|喜好|偏好|习惯|要求|名字|职业|爱好|地址"
    r"|电话|邮箱|城市|年龄|项目|技术栈|环境|规则|原因|计划).*",
    re.IGNORECASE,
)
_FIRST = re.compile(
    r"\b(?:I|I'm|I've|I'd|my|me|we|our|ich|mein\w*|wir|je|j'|mon|ma|mes|yo|mi|mis|eu|meu|minha|io"
    r"|mio|mia|you|your)\b|[我咱俺您你]|[私僕俺]|\b(?:я|мой|моя|мне|ты|вы)\b",
    re.IGNORECASE,
)


_ROLE = re.compile("system|assistant|developer|prompt|系统|助手")


_GREETING = re.compile(
    r"^[ \t]*(?:dear|hi|hello|hey|good (?:morning|day)|to whom it may concern|sehr geehrte\w*"
    r"|liebe[r]?|hallo|bonjour|chère?|estimad[oa]|hola|caro|cara|уважаем\w+|尊敬的"
    r"|亲爱的)[^\n]{0,50}[,，!:：][ \t]*$|^[^\n]{0,20}您好[，,:：]?",
    re.IGNORECASE | re.MULTILINE,
)
_SIGNED = re.compile(
    r"^[ \t]*(?:(?:kind(?:est)?|best|warm(?:est)?|with|many) (?:regards|wishes|thanks)|regards"
    r"|sincerely|yours\b|best,|cheers,|mit freundlichen|viele grüße|cordialement|saludos"
    r"|un saludo|atentamente|с уважением|此致|敬礼|敬上|祝好)[^\n]*$|^-- $",
    re.IGNORECASE | re.MULTILINE,
)


def _letters(text: str) -> Iterator[QuotedSpan]:
    """Yield a letter from its greeting to the end."""
    greeting, signed = _GREETING.search(text), _SIGNED.search(text)
    if signed and signed[0] == "-- ":
        yield QuotedSpan(0, len(text), "pasted text")
    elif greeting and signed and greeting.start() < signed.start():
        yield QuotedSpan(greeting.start(), len(text), "pasted text")


def _transcripts(text: str) -> Iterator[QuotedSpan]:
    """Yield others' speech in lines that begin with a speaker's name, to the message's end."""
    seen: dict[str, int] = {}
    for start, end in lines(text):
        label = _LABEL.match(text, start, end)
        if label is None or _REMARK.fullmatch(label[1].strip()):
            continue
        name = label[1].strip().casefold()
        if name in seen or _is_speech(text, label):
            yield QuotedSpan(min(start, seen.get(name, start)), len(text), "quoted text")
            return
        seen[name] = start


def _is_speech(text: str, label: re.Match[str]) -> bool:
    """Return whether another person speaks after a label; a quotation there is found separately."""
    name = label[1].strip()
    if _ROLE.fullmatch(name.casefold()):
        return True
    if TAKEN in name or _SET_OFF.match(text, label.end()):
        return False
    return _FIRST.search(text, label.end(), label.endpos) is not None and _is_name(name)


_SET_OFF = re.compile(rf"[{TAKEN}\"“„«»「]")
_MAX_NAME_WORDS = 3


def _is_name(label: str) -> bool:
    """Return whether a label may be somebody's name: a few words, none of them in small letters."""
    words = label.split()
    return len(words) <= _MAX_NAME_WORDS and not any(word[0].islower() for word in words)


_SOURCE = (
    r"\b(?:e-?mail|mail|message|letter|article|web ?page|page|web ?site|site|blog|post|tweet"
    r"|thread|comments?|review|readme|docs?|documentation|manual|wiki(?:pedia)?|logs?|output"
    r"|error|stack ?trace|traceback|transcript|chat|conversation|memo|report|answer|response"
    r"|reply|results?|snippet|excerpt|quote|passage|text|paragraph|file|pdf|advert(?:isement)?"
    r"|newsletter|slack|whatsapp|sms|memory|memories|summary|ticket|issue|prompt|instructions?"
    r"|contract|terms|profile|press release|announcement|poem|lyrics|sentences?|phrase|statement"
    r"|nachricht|brief|artikel|webseite|courriel|lettre|correo|mensaje|artículo|письмо|статья"
    r"|сообщение)\b|邮件|文章|网页|消息|聊天记录|日志|输出|原文|报告|报错|短信|帖子|评论|摘要"
    r"|总结|对话|记录|合同|公告|内容|资料|攻略|メール|記事|ログ|메일|기사"
)
_SAID = (
    r"\b(?:says?|said|writes?|wrote|told|texted|repl(?:ied|ies)|answered|reads?|states?|stated"
    r"|claims?|claimed|posted|commented|mentioned|emailed|messaged|sent|asked|goes|went|sagte"
    r"|sagt|schrieb|meinte|dit|écrit|dijo|dice|escribió|disse|ha detto|сказал\w*|пишет"
    r"|написал\w*)\b|说|写道|写了|表示|回复|留言|发来|发给我|转给我|告诉我|問い|言った|말했"
)
_COLON_NEAR = r"(?=[^\n:：.!?。！？]{0,240}[:：])"
"""Looked for before the words of an introduction, which take longer; it is never that long."""
_SOURCE_INTRO = re.compile(
    rf"(?:^|(?<=[\n.!?。！？])){_COLON_NEAR}([^\n:：.!?。！？]{{0,140}}?(?:{_SOURCE})[^\n:：.!?。！？]{{0,60}})[:：](?!//|\d)",
    re.IGNORECASE,
)
_SAID_INTRO = re.compile(
    rf"(?:^|(?<=[\n.!?。！？,，;；])){_COLON_NEAR}([^\n:：.!?。！？]{{0,100}}?(?:{_SAID})[^\n:：.!?。！？]{{0,40}})[:：](?!//|\d)",
    re.IGNORECASE,
)
_THIS_INTRO = re.compile(
    r"\b(?:texted|wrote|sent|told|e-?mailed|messaged) (?:me|us) (?:this|the following)"
    r"(?: (?:word for word|verbatim)|(?=[.,!]\s))"
    r"|\b(?:(?:here['’]?s|here is|this is) what (?:i|we) (?:got|received)"
    r"|ce que (?:j['’]ai|on a) reçu|das (?:hab|habe|haben) (?:ich|wir) (?:bekommen|gekriegt)"
    r"|es lo que (?:me llegó|he recibido))"
    r"(?=[.,!]\s)",
    re.IGNORECASE,
)
"""What introduces somebody's text without a colon."""
_OWN_SOURCE = re.compile(
    r"(?:^|\b)(?:my|our|mein\w*|mon|ma|mi)\s+(?:\w+\s+){0,2}?(?:profile|bio|issue|story)\b"
    r"|我的(?:资料|情况)|\bj['’]ai dit\b|\bje dis\b|\bich (?:sag|hab)\w*|\bdije\b|\bhe dicho\b"
    r"|\b(?:I|we)(?:'d| would| want to| just| only)?(?: like to)? (?:say|said"
    r"|tell|told|write|wrote|mention|ask|claim|state)\b|我(?:们)?(?:想|要|只|刚|来|再)?(?:说|补充"
    r"|表示)",
    re.IGNORECASE,
)


def _reported(text: str) -> Iterator[QuotedSpan]:
    """Take what a source or a person is introduced with a colon, or on the lines after it."""
    for found in _SOURCE_INTRO.finditer(text):
        if not _OWN_SOURCE.search(found[1]):
            yield QuotedSpan(found.end(), _end_of_report(text, found.end()), "pasted text")
    for found in _THIS_INTRO.finditer(text):
        yield QuotedSpan(found.end(), _end_of_report(text, found.end()), "pasted text")
    for found in _SAID_INTRO.finditer(text):
        if not _OWN_SOURCE.search(found[1]):
            start = found.end()
            same_line = text[start : start + 2].strip(" ") != "\n"
            limit = paragraph_end(text, start) if same_line else len(text)
            end = min(limit, _end_of_report(text, start))
            yield QuotedSpan(start, end, "pasted text")


_MARKED = re.compile(rf"\s*+((?:[ \t]*+[>＞][^\n]*(?:\n|$))+|{TAKEN}+)")


_QUOTED = re.compile(
    r"\s*+(?:\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|»[^«]*«|「[^」]*」|'[^']*'(?!\w))"
)


def _end_of_report(text: str, start: int) -> int:
    """Return the end of a report: after the lines, or the marks, that quote it, or none.

    The last mark in the text counts: the report's author could have inserted earlier ones.
    """
    if marked := _MARKED.match(text, start):
        return marked.end()
    if quoted := _QUOTED.match(text, start):
        return max(quoted.end(), text.rfind(quoted[0][-1]) + 1)
    return len(text)
