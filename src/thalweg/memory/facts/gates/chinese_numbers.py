"""Numbers as Chinese writes them."""

_DIGITS = {
    "〇": 0, "零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7,
    "八": 8, "九": 9,
}  # fmt: skip
_TIMES = {"十": 10, "百": 100, "千": 1_000}


def chinese_number(text: str) -> int:
    """Read a number in digits or in Chinese, below ten thousand; a year digit by digit.

    Example:
        >>> [chinese_number(text) for text in ("三", "十二", "二十", "两", "8", "二〇二三")]
        [3, 12, 20, 2, 8, 2023]
    """
    if text.isdigit() and text.isascii():
        return int(text)
    if text == "几":
        return 3
    if all(letter in _DIGITS for letter in text):
        return int("".join(str(_DIGITS[letter]) for letter in text))
    total, digit = 0, 0
    for letter in text:
        if letter in _TIMES:
            total += (digit or 1) * _TIMES[letter]
            digit = 0
        else:
            digit = _DIGITS[letter]
    return total + digit
