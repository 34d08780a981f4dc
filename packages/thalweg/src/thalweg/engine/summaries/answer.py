"""A model's answer before it is parsed: unwrapping, and detection of answers that are none."""

import re

from thalweg.engine.data_files import by_word, read_table
from thalweg.errors import SummaryError

_PROBLEMS = by_word(read_table(__package__, "finish.toml").items())
"""What each finish reason of a provider shows about an answer."""


def check_finish(finish: str, text: str) -> None:
    """Raise if the model's finish reason shows that its answer is unusable.

    Raises:
        SummaryError: The answer was cut off, stopped, or is a tool call.
    """
    if problem := _PROBLEMS.get(finish.strip().lower()):
        detail = f"{problem} ({finish})"
        raise SummaryError(detail, text)


_THINKS = ("think", "thinking", "reasoning", "analysis")


def without_thinking(text: str) -> str:
    """Remove reasoning that a model wrote into its answer, before or between its lines."""
    for tag in _THINKS:
        text = _without(text, f"<{tag}>", f"</{tag}>")
    return text


def _without(text: str, opening: str, closing: str) -> str:
    kept: list[str] = []
    opens = re.compile(rf"^[^\S\n]*{opening}", re.MULTILINE | re.IGNORECASE)
    closes = re.compile(closing, re.IGNORECASE)
    opened = opens.search(text)
    # Some templates write the opening tag themselves: only the closing one is in the answer.
    ended = re.search(rf"{closing}[^\S\n]*$", text, re.MULTILINE | re.IGNORECASE)
    at = ended.end() if ended and (opened is None or ended.start() < opened.start()) else 0
    while opened := opens.search(text, at):
        kept.append(text[at : opened.start()])
        ended = closes.search(text, opened.end())
        if ended is None:
            return "".join(kept)
        at = ended.end()
    return "".join([*kept, text[at:]])


_FENCED = re.compile(r"```[\w-]*[^\S\n]*\n(.*)\n```", re.DOTALL)


def unwrapped(text: str) -> str:
    """Remove a code fence or tags that enclose the whole answer."""
    text = text.strip()
    if (match := _FENCED.fullmatch(text)) and "\n```" not in match[1]:
        text = match[1].strip()
    match = re.match(r"<(\w+)>", text)
    if match and text.endswith(f"</{match[1]}>"):
        text = text[match.end() : -len(match[1]) - 3].strip()
    return text


_ACKNOWLEDGES = re.compile(
    r"(?:ok(?:ay)?|sure|certainly|of course|absolutely|got it|understood|acknowledged|ack[\w-]*"
    r"|will do|right away|here(?: is|'s)|below is|this is the|let me|i'll|i will"
    r"|i['\u2019]ve (?:summari|read)|i have (?:summari|read)|thanks|thank you|feel free"
    r"|好的|明白|收到|了解|知道了|当然|没问题|以下是|はい|承知"
    r"|bien sûr|d'accord|klar|verstanden|claro)(?![\w-])"
    r"|(?:done|yes|great|noted|ready|no problem)\W*$",
    re.IGNORECASE,
)
_ACK_CHARS = 200
_REFUSES = re.compile(
    r"(?:i(?:['\u2019]m| am) (?:very |so |really )?(?:sorry|afraid|unable|not able)"
    r"|(?:sorry|unfortunately|apologies|i apologi[sz]e)\b"
    r"|i (?:can(?:['\u2019]t|not| not)|won['\u2019]t|will not|must decline|decline|refuse)\b"
    r"|as an ai\b|i do(?:n['\u2019]t| not) have (?:access|the|any) "
    r"|(?:很|非常|十分)?(?:抱歉|对不起|遗憾)|我(?:无法|不能|没法|没有办法|不可以)"
    r"|作为(?:一个)?(?:ai|人工智能)|申し訳|すみません|ごめん|죄송|lo siento|no puedo"
    r"|je suis désolé|je ne peux pas|désolé|(?:es )?tut mir leid|ich kann (?:nicht|dir|ihnen)"
    r"|desculpe|sinto muito|não posso|mi dispiace|извините|к сожалению)",
    re.IGNORECASE,
)


_STOPGAPS = (
    "Error generating summary: ",
    "No previous conversation history.",
    "Previous conversation was too long to summarize.",
)
"""How the texts begin that LangChain's `SummarizationMiddleware` returns in place of a summary:
the first up to 1.0, with the words of any exception; the others in every version up to 1.5
(`langchain/agents/middleware/summarization.py`, read on 2026-11-28)."""


def check_stopgap(answer: str) -> None:
    """Raise if an answer is the text that a summarizer returns when it failed.

    Raises:
        SummaryError: It is one of LangChain's.
    """
    if answer.startswith(_STOPGAPS):
        problem = "it is the error text of a summarizer"
        raise SummaryError(problem, answer)


def is_filler(line: str) -> bool:
    """Return whether a line only acknowledges the request or announces an answer."""
    return len(line) <= _ACK_CHARS and _ACKNOWLEDGES.match(line) is not None


def is_refusal(line: str) -> bool:
    """Return whether a line begins like a refusal, in several languages."""
    return _REFUSES.match(line) is not None
