"""Characters that are drawn as nothing, where a script needs them, and words of letters that look like others.

The list is Default_Ignorable_Code_Point of Unicode 16.0 (DerivedCoreProperties.txt) without the soft hyphen, which the
writer treats, and what is drawn blank or steers drawing beside it: U+2800, the blank pattern of Braille (So), U+13430
to U+1343F, controls of Egyptian hieroglyphs (Cf), U+1107F, U+16FE4 and U+1D159, joiner, filler and null notehead.
"""

# ruff: noqa: RUF001  letters that look like others are meant
import re
import unicodedata
from functools import lru_cache

SUSPECT = re.compile(
    "[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001107f\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3\U0001d159"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
BLANK = "\u2800"
_USUAL = bytes([*range(0x20, 0x7F), *b"\n\t"])
_OVERRIDES = frozenset("\u202d\u202e")
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069") | _OVERRIDES
_JOINERS = frozenset("\u200c\u200d")
_BREAK = "\u200b"  # where Thai, Lao, Khmer and Burmese, which have no spaces, may break a line
_UNSPACED = ("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "JAVANESE", "BALINESE")
_JOINING = {"So", "Sk", "Mn", "Mc", "Me", "Cf"}  # emoji and what modifies them; signs of Indic scripts
_STYLES = frozenset("\ufe0e\ufe0f")  # as a letter or as a picture (emoji-variation-sequences.txt)
_PICTURES = {"So", "Sm", "Sk", "Po", "Pd", "No", "Nd"}
_OF_LETTERS = frozenset("\u2139\u24c2")  # that may be pictures
_NEIGHBOURS = (
    ("\u115f", "\u1160", ("HANGUL CHOSEONG", "HANGUL JUNGSEONG", "HANGUL JONGSEONG")),
    ("\u180b", "\u180f", ("MONGOLIAN",)),
    (BLANK, BLANK, ("BRAILLE",)),
    ("\U0001107f", "\U0001107f", ("BRAHMI",)),
    ("\U00013430", "\U0001343f", ("EGYPTIAN",)),
    ("\U00016fe4", "\U00016fe4", ("KHITAN",)),
    ("\U0001bca0", "\U0001bca3", ("DUPLOYAN",)),
    ("\U0001d159", "\U0001d17a", ("MUSICAL",)),
)
"""From and to which character one is needed beside which characters, by the beginning of their names."""
_VARYING = ("CJK", "PHAGS", "MYANMAR", "MANICHAEAN", "IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH")

_LATIN = "A-Za-z\u00c0-\u024f"
# Greek and Cyrillic letters, without the Greek question mark and the high dot, which many PDFs have for ";" and "·".
_OTHER = "\u0370-\u0373\u0376-\u037d\u037f\u0386\u0388-\u03ff\u0400-\u052f"
_OTHER_LETTER = re.compile(f"[{_OTHER}]")
_MIXED = re.compile(f"[{_LATIN}][{_OTHER}]|[{_OTHER}][{_LATIN}]")
_WORD = re.compile(f"[{_LATIN}{_OTHER}]{{3,}}")
# Letters that look like Latin ones (UTS #39, confusables.txt), as far as their shapes are the same in usual fonts.
_LIKE_LATIN = frozenset("аеорсухіѕјһԁԛԝАВЕКМНОРСТУХІЅЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϲϳ")
_LIKE_CYRILLIC = frozenset("aceopxyABCEHKMOPTX")


@lru_cache(maxsize=1)  # the same text is asked for twice
def unusual(text: str) -> str:
    """The characters of a text that are no printable ASCII, line ends or tabs: few, and found in few passes."""
    return text.encode("utf-8", "surrogatepass").translate(None, _USUAL).decode("utf-8", "surrogatepass")


def kind_of(one: str) -> str:
    """The kind of hidden text (of hidden.KINDS) that such a character is."""
    if one in _DIRECTIONS:
        return "bidi_control"
    return "tag" if "\U000e0000" <= one <= "\U000e007f" else "zero_width"


def is_right_to_left(line: str) -> bool:
    """Whether a line holds letters that are written from right to left."""
    return any(unicodedata.bidirectional(one) in {"R", "AL", "AN"} for one in unusual(line))


def needed(run: str, place: int, before: str, after: str, right_to_left: bool) -> bool:
    """Whether a character of a run of such characters stands where those who write the script put it.

    `before` and `after` are the characters around the run; `right_to_left`: its line holds letters written so.
    """
    one, around = run[place], [each for each in (before, after) if each]
    if one in _DIRECTIONS:
        return right_to_left and one not in _OVERRIDES
    if one in _JOINERS:
        return any(_joins(each) for each in around)
    if one == _BREAK:
        return any(unicodedata.name(each, "").startswith(_UNSPACED) for each in around)
    if "\ufe00" <= one <= "\ufe0f" or one >= "\U000e0100":
        base = before if place == 0 else run[place - 1]
        return bool(base) and _varies(base, one)
    if "\U000e0020" <= one <= "\U000e007f":
        return before == "\U0001f3f4"  # the flag of a region
    names = next((names for first, last, names in _NEIGHBOURS if first <= one <= last), ())
    return bool(names) and any(unicodedata.name(each, "").startswith(names) for each in around)


def look_alikes(text: str) -> list[str]:
    """Words in which letters of one script pass for those of another: all of either are such that look like these."""
    if not _OTHER_LETTER.search(unusual(text)) or not _MIXED.search(text):
        return []
    return [word for word in _WORD.findall(text) if not word.isascii() and _MIXED.search(word) and _passes(word)]


def _passes(word: str) -> bool:
    latin = [one for one in word if one < "\u0370"]
    others = [one for one in word if one >= "\u0370"]
    if len(latin) > 1 and all(one in _LIKE_LATIN for one in others):
        return True
    return all(one >= "\u0400" for one in others) and len(others) > 1 and all(one in _LIKE_CYRILLIC for one in latin)


def _varies(base: str, selector: str) -> bool:
    """Whether a character has the variants that a selector after it chooses."""
    if selector in _STYLES and (unicodedata.category(base) in _PICTURES or base in _OF_LETTERS):
        return True
    if selector <= "\ufe02" and unicodedata.category(base) == "Sm":
        return True
    return unicodedata.name(base, "").startswith(_VARYING)


def _joins(one: str) -> bool:
    """Whether a character is of a script whose letters join (Arabic, Syriac, Indic), or part of an emoji."""
    if unicodedata.bidirectional(one) == "AL" or unicodedata.category(one) in _JOINING:
        return True
    return "\u0900" <= one <= "\u0dff" or "\u1000" <= one <= "\u109f" or "\u1780" <= one <= "\u18af"
