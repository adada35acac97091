"""Stems of English words: M. F. Porter, An algorithm for suffix stripping (1980), with the rules as published.

In it a word is a row of consonants and vowels, (C)(VC){m}(V), and m is called its measure. A rule replaces an ending if
what stands before it has a measure that is large enough; in each step the longest ending counts.
"""

import re
from collections.abc import Mapping
from functools import cache

_SECOND = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_THIRD = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_FOURTH = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split()  # noqa: SIM905


@cache
def stem(word: str) -> str:
    """The stem of a word in small letters."""
    if len(word) <= 2:
        return word
    word = _past(_plural(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    return _last(_without(_replaced(_replaced(word, _SECOND), _THIRD)))


def _shape(word: str) -> str:
    """Each letter as c or v; a y after a consonant is a vowel."""
    out = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and out.endswith("c"))
        out += "v" if vowel else "c"
    return out


def _measure(word: str) -> int:
    return len(re.findall("v+c+", _shape(word)))


def _is_short(word: str) -> bool:
    """Whether it ends in consonant, vowel, consonant, the last of which is not w, x or y: an e may have stood there."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    ending = next((one for one in ("ed", "ing") if word.endswith(one)), "")
    rest = word.removesuffix(ending)
    if not ending or "v" not in _shape(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _shape(rest).endswith("cc") and rest[-1] == rest[-2] and rest[-1] not in "lsz":
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _is_short(rest) else rest


def _replaced(word: str, rules: Mapping[str, str]) -> str:
    ending = max((one for one in rules if word.endswith(one)), key=len, default="")
    rest = word.removesuffix(ending)
    return rest + rules[ending] if ending and _measure(rest) else word


def _without(word: str) -> str:
    ending = max((one for one in _FOURTH if word.endswith(one)), key=len, default="")
    rest = word.removesuffix(ending)
    return rest if ending and _measure(rest) > 1 and (ending != "ion" or rest[-1] in "st") else word


def _last(word: str) -> str:
    """The word without an e at its end, and with one l there instead of two."""
    rest = word.removesuffix("e")
    if rest != word and (_measure(rest) > 1 or (_measure(rest) == 1 and not _is_short(rest))):
        word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
