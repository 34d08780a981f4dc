"""Deceptive letters: hidden ones, and those of another alphabet.

Text that a person cannot see is no one's own words. It is removed before anything is judged,
stored or shown, and a word that mixes look-alikes is reported by its name.
"""

import re
import unicodedata

_SYMBOL = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf"
    "\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff#*0-9"
)
_JOINING = "\u0600-\u06ff\u0700-\u074f\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1820-\u18aa"
"""Scripts whose spelling needs joiners: Arabic, Syriac, those of India, Burmese, Khmer, Mongol."""
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f"
_HONEST = (
    f"{_FLAG}"
    f"|(?:(?<=[{_SYMBOL}])|(?<=[{_SYMBOL}]\ufe0f))\u200d(?=[{_SYMBOL}])"
    f"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
    f"|(?<=[{_SYMBOL}])[\ufe0e\ufe0f]"
    f"|(?<=[{_HAN}])[\U000e0100-\U000e01ef]"
)
"""Where characters without a shape are spelling: flags, joined emoji, Persian, Hindi, names."""
_SHAPELESS = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_HIDDEN = re.compile(f"({_HONEST})|{_SHAPELESS}")
_BREAKS = re.compile("\r\n?|[\u0085\u2028\u2029]")


def with_plain_lines(text: str) -> str:
    """End every line in a line feed."""
    return _BREAKS.sub("\n", text)


def visible(text: str) -> str:
    r"""Return a text without invisible characters: zero widths, direction marks, tags, controls.

    Joiners are kept where spelling needs them. Lines end in line feeds.

    Example:
        >>> visible("ig\u200bnore\u202e this\r\n")
        'ignore this\n'
    """
    return _HIDDEN.sub(lambda found: found[1] or "", with_plain_lines(text))


def folded(text: str) -> str:
    """Write a text as it is compared: compatible forms (`ＡＢ`, `𝐀𝐁`) are plain letters.

    Example:
        >>> folded("ＡＢＣ 𝐝𝐞𝐟 ①")
        'ABC def 1'
    """
    pieces = _STOPS.split(visible(text))
    return "".join(
        piece if _STOPS.fullmatch(piece) else unicodedata.normalize("NFKC", piece)
        for piece in pieces
    )


_STOPS = re.compile("([，；：？！（）])")
"""They separate sentences without a following space, unlike their narrow forms."""


_INNOCENT = frozenset("\u00ad\u061c\u200e\u200f\ufe0e\ufe0f\x7f")
_PRIVATE = re.compile("[\ud800-\udfff\ue000-\uf8ff]")
_STATEMENT = re.compile(r"[^.!?\n。！？]*(?:[.!?\n。！？]+|$)")


def hiding(text: str) -> list[tuple[int, int]]:
    r"""Return the statements with hidden characters, which are not typed but from elsewhere.

    Soft hyphens, single direction marks and icons of a vendor are ignored.

    Example:
        >>> hiding("Hello. My bank\u200b is Fox. Bye.")
        [(6, 23)]
    """
    if not _HIDDEN.search(text):
        return []
    return [
        found.span()
        for found in _STATEMENT.finditer(text)
        if any(
            not (hidden[1] or hidden[0] in _INNOCENT or _PRIVATE.match(hidden[0]))
            and not (hidden.start() == 0 and hidden[0] == "\ufeff")
            for hidden in _HIDDEN.finditer(text, *found.span())
        )
    ]


_LOOKALIKE = (
    "АВЕЗКМНОРСТУХЅІЈԌԚԜаеорсухѕіјһԁԛԝѵьӏӀ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναιρυκϲϳ"  # Greek
    "օսհոց"  # Armenian
    "ᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃ"  # Cherokee
    "ɑɡꞮᴀᴄᴅᴇᴊᴋᴍɴᴏᴘᴛᴜᴠᴡᴢ"  # phonetic letters
)  # fmt: skip
"""Letters that are drawn as Latin ones are."""
_LATIN = "A-Za-zÀ-ÖØ-öø-ÿĀ-ſ"
_MIXED = re.compile(rf"[{_LATIN}{_LOOKALIKE}]{{2,}}")
_OTHER_ALPHABET = re.compile(rf"(?![{_LOOKALIKE}])[\u0370-\u058f\u13a0-\u13ff]")
_SHORTEST_DISGUISE = 3


def disguised(text: str) -> list[str]:
    """List words that are spelled with another alphabet's look-alikes.

    Example:
        >>> disguised("pay with p\u0430ypal"), disguised("в Москве у Wi-Fi 5 μm")
        (['pаypal'], [])
    """
    found = [word for word in _MIXED.findall(text) if _is_mixed(word)]
    if not _OTHER_ALPHABET.search(text) and re.search(f"[{_LATIN}]{{3}}", text):
        found += [
            word
            for word in re.findall(rf"\b[{_LOOKALIKE}]+\b", text)
            if len(word) >= _SHORTEST_DISGUISE
        ]
    return found


def _is_mixed(word: str) -> bool:
    foreign = [letter for letter in word if letter in _LOOKALIKE]
    return 0 < len(foreign) < len(word)
