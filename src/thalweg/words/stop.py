"""Words without information about the subject of a text, in English and in Chinese."""

from thalweg.words.words import words

_ENGLISH = frozenset(
    words(
        "a about after all also am an and any are as at be because been before being between both"
        " but by can could did do does doing done each either ever every for from get gets got had"
        " has have having he her here hers him his how i if in into is it its just kind let made"
        " make many may me might mine more most much must my no nor not of off on once one only or"
        " other our ours out over own please same say says said saying see she should so some such"
        " tell tells than that the their theirs them then there these they thing things this those"
        " through to too under until up upon us very was we were what when where whether which"
        " while who whom whose why will with within without would yes yet you your yours"
        " isn't don't didn't doesn't wasn't aren't can't"
    )
)
WEAK_WORDS = frozenset(
    words(
        "answer ask begin belong bring call carry cause come contain describe did end example exact"
        " explain find first give go happen include initial keep know last late latest list long"
        " look mean mention name need number order part put quote recent refer report return say"
        " second see set show stand start state stay stop take talk think time try turn use value"
        " want way went word work write wrote"
    )
)
"""Words that shape a question and occur in many answers by chance: they have a low weight."""
_PAIRS = frozenset(
    words(
        "什么 哪里 哪个 哪些 哪一 多少 怎么 怎样 如何 为何 为什么 是否 是不是 有没有 吗 呢 的 了"
        " 我们 你们 他们 她们 这个 那个 这些 那些 一个 曾经 记得 告诉 请问 以及 还有 因为 所以 可以"
        " 何 どこ どれ です ます した する こと"
    )
)
STOP_WORDS = _ENGLISH | _PAIRS
"""Words of every text: they are not searched for. Folded, as `words` returns them."""

_PARTICLES = frozenset(
    "的了着过地得是在和与及或而且但也都就很还又再吗呢吧啊呀嘛哦我你您他她它们这那哪谁什么之其于对把被"
    "从到向给让为因所以并没不个些一曾已会能可"
)


def is_particle(letter: str) -> bool:
    """Return whether a letter connects Chinese or Japanese words, more often than not.

    Example:
        >>> is_particle("的"), is_particle("书")
        (True, False)
    """
    return letter in _PARTICLES or "\u3041" <= letter <= "\u309f"
