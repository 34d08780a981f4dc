"""The default title of a thread: the beginning of its first message."""

from thalweg_server.api.runs import NewRun

MOST_CHARS = 60


def title_of(new: NewRun) -> str:
    """Return a title from the message of a run; empty if it has no text.

    Example:
        >>> title_of(NewRun(message="Fix the build, please.  It fails since Tuesday."))
        'Fix the build, please. It fails since Tuesday.'
    """
    texts = [new.message] if new.message is not None else []
    for given in new.messages:
        if isinstance(given.content, str):
            texts.append(given.content)
        else:
            texts += [str(block.get("text", "")) for block in given.content]
    words = " ".join(" ".join(texts)[: 20 * MOST_CHARS].split())
    if len(words) <= MOST_CHARS:
        return words
    whole, _, _ = words[:MOST_CHARS].rpartition(" ")
    return f"{whole or words[: MOST_CHARS - 1]}…"
