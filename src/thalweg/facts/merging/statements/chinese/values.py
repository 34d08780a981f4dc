"""Values that Chinese statements tell by their looks: times, numbers, things of a kind."""

import re
from collections.abc import Iterator

from thalweg.facts.merging.statements.chinese.tokens import KIND, KIND_OF
from thalweg.facts.merging.statements.tables.scales import SCALES

_LOOKS = (
    ("date", re.compile(r"@[\d-]+")),
    ("time", re.compile(r"\d\d:\d\d")),
    ("weekday", re.compile(r"周[1-7]")),
    ("every", re.compile(r"每(\d*个?(?:天|周|月|年|季度|小时|分钟|日))")),
    ("version", re.compile(r"(?<![\d.])\d+\.\d+(?:\.\d+)*")),
    ("email", re.compile(r"[a-z0-9_.+-]+@[a-z0-9_.-]+[a-z0-9]")),
    ("title", re.compile('[《“「"]([^》”」"]+)[》”」"]')),
)
_UNITS = (
    "毫秒|小时|分钟|公斤|厘米|公里|季度|个?人|名?工程师|个?月|个?版本|秒|天|岁|次|楼|层|kg|斤|米|元|块|周|年|级|"
    "度|分"
)
_COUNTED = re.compile(rf"(?<![\d.:@-])(\d+(?:\.\d+)?) ?({_UNITS})?(?![\d.:])")
_SCALE_OF = {
    part.strip(): number
    for number, line in enumerate(SCALES.splitlines())
    for part in line.split("|")
    if not part.strip().isascii()
}
_SCALE = re.compile("|".join(sorted(_SCALE_OF, key=len, reverse=True)))


def typed(text: str) -> Iterator[tuple[str, str]]:
    """List the values in a spelt statement, each after its kind."""
    for kind, look in _LOOKS:
        yield from ((kind, value) for value in look.findall(text))
    for number, unit in _COUNTED.findall(text):
        yield (f"count {unit.removeprefix('个').removeprefix('名')}" if unit else "number", number)
    for member in KIND.findall(text):
        yield KIND_OF[member], member
    for word in _SCALE.findall(text):
        yield f"scale {_SCALE_OF[word]}", word
