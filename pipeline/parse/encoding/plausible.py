# ruff: noqa: RUF001 (letters of other scripts and typographic signs are what this is about)
"""How plausible bytes are as European text in each legacy encoding, for texts too short for statistics of a language.

An encoding costs bits: for how rarely offices have it, and for each character beyond ASCII, few where a language writes
it often or a sign stands where it makes sense, many where not. The cheapest language counts, and its common words speak
for it. Text that is neither European nor Hebrew nor Arabic costs too much.
"""

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_ENCODINGS = {  # bits for rarity; of those that read the same the first is named
    "cp1252": 0, "iso8859_15": 3, "cp1250": 3, "cp1251": 3, "cp1253": 3, "cp1254": 3, "iso8859_2": 4, "cp1257": 4,
    "iso8859_7": 4, "cp1255": 4, "cp1256": 4, "koi8_r": 5, "iso8859_5": 6, "iso8859_13": 7, "iso8859_6": 6,
    "koi8_u": 7, "cp850": 7, "cp858": 8, "cp437": 8, "cp852": 8, "cp866": 6, "cp855": 9, "mac_roman": 8,
    "mac_cyrillic": 8, "mac_latin2": 11, "cp737": 10, "cp857": 11, "cp865": 11,
}  # fmt: skip
_LANGUAGES = json.loads(Path(__file__).with_name("europe.json").read_text("utf-8"))
"""By language its letters beyond ASCII, the most frequent first, words of letters and offices, bits for its rarity."""
_WRITTEN = 5  # letters of a language, the most frequent, that its encodings have
_BITS = {  # of each letter and each word in each language: Zipf's law, Turkish i being what case makes of dotted I
    name: ({one: 1 + math.log2(rank + 2) for rank, one in enumerate(said["letters"])}, frozenset(said["words"].split()))
    for name, said in _LANGUAGES.items()
}
_FAMILIAR = frozenset("éèàêçôüöäáóíñúßøåæ")  # in names, anywhere
_ODD, _SIGN, _KNOWN_WORD, _ALONE = 14.0, 3.0, 2.0, 10.0
_WORD = re.compile(r"[^\W\d_ªº²³¹¼½¾ˆ˜ƒµ]+")
_SIGNS = re.compile(r"(?![A-Za-z])[^\x00-\x7f\w]|[ªº²³¹¼½¾ˆ˜ƒµ]")
_SENSIBLE = re.compile(  # signs where an office would put them
    r"(?<![^\W\d_])[€£](?![^\W\d_])|(?<![\w)])[„“”‚‘](?=\S)|(?<=\S)[“”‘’](?!\w)|(?<!\w)[«»‹›]|[«»‹›](?!\w)"
    r"|(?<=[^\W\d_])’(?=[^\W\d_])|(?<=[\s\d])[–—](?=[\s\d])|(?<=[\w\s.])…(?![\w.])|(?<!\S)[•·](?=\s)"
    r"|(?<=[\dNn ])°(?!\w\w)|(?<=[\dNnM])[ªº](?!\w)|(?<!\w)[§¶](?=[\s\d§\xa0])|(?<=[\dm])[²³](?!\w)"
    r"|(?<![^\W\d_])[½¼¾](?!\w)|(?<![^\W\d_])[±×÷](?!\w\w)|(?<=[\d ])µ(?=[mgslAV])|(?<!\w)[¿¡](?=\w)"
    r"|(?<![^\W\d])\xa0|(?<=\b\w)\xa0|\xa0(?=[\d:;!?«»€%(])|(?<=[\s\w])[©®™](?!\w)|(?<=[\d ])‰|(?<!\w)№(?=\s?\d)"
    r"|[┌└├╔╚╠╟]?(?:([─═])\1{2,}[┬┴┼╦╩╬╤╧╪┐┘┤╗╝╣╢]?)+|(?<!\S)[│║](?!\S)"
)
_NOT_THERE = re.compile("[םןךץף](?=[א-ת])|[æêîñ]$")  # letters at places in words where they do not stand
_AT_MOST, _ONCE = 4.8, 8.0  # bits of each character beyond ASCII, and besides, in what is European text
_TO_LINE_END = re.compile(rb"[\x80-\xff][^\n]*\n?")
_SAMPLE = 8192  # bytes of lines that say something
_BEFORE = 200  # bytes of a long line that are read before the first beyond ASCII


@dataclass(frozen=True)
class Reading:
    """A way to read bytes, the bits it costs, and whether these are few enough for a European text."""

    encoding: str
    text: str
    bits: float
    plausible: bool


def readings(data: bytes) -> list[Reading]:
    """The European readings of a sample of the bytes, one for each different text, the most plausible first."""
    sample, found = _sample(data), dict[str, Reading]()
    for encoding, rarity in _ENCODINGS.items():
        text = sample.decode(encoding, "replace")  # what replaces is a sign that makes no sense
        if text not in found:
            bits = _bits(text, _written(encoding), rarity)
            beyond = sum(character > "\x7f" for character in text)
            found[text] = Reading(encoding, text, bits, bits - rarity <= _AT_MOST * beyond + _ONCE)
    return sorted(found.values(), key=lambda one: one.bits)


def _sample(data: bytes) -> bytes:
    """The lines with bytes beyond ASCII, or their stretch around the first such byte; all of a short text."""
    if len(data) <= _SAMPLE:
        return data
    pieces, left = [], _SAMPLE
    for rest in _TO_LINE_END.finditer(data):
        before = max(0, rest.start() - _BEFORE)
        start = max(before, data.rfind(b"\n", before, rest.start()) + 1)
        pieces.append(data[start : min(rest.end(), start + left)])
        left -= len(pieces[-1])
        if left <= 0:
            break
    return b"".join(pieces)


@cache
def _written(encoding: str) -> tuple[str, ...]:
    return tuple(
        name
        for name, said in _LANGUAGES.items()
        if "?" not in said["letters"][:_WRITTEN].encode(encoding, "replace").decode(encoding)
    )


def _bits(text: str, languages: tuple[str, ...], rarity: float) -> float:
    """The bits of a text in the language that it fits best; more without any letter that speaks for the encoding."""
    words = Counter(_WORD.findall(text))
    letters, odd, seldom = Counter[str](), 0, 0
    for word, times in words.items():
        if not word.isascii():
            seldom += times * (_NOT_THERE.search(word) is not None)
            letters.update({one: times * word.count(one) for one in set(word) if one > "\x7f"})
            odd += times * _is_odd(word)
    signs, sensible = len(_SIGNS.findall(text)), sum(len(one[0]) for one in _SENSIBLE.finditer(text))
    always = _ODD * odd + _SIGN * seldom + _SIGN * sensible + _ODD * (signs - sensible)
    always += rarity + (_SIGN if rarity and not letters else 0.0)
    always += sum(times for one, times in letters.items() if one.isupper())
    known = {word.lower() for word in words}
    return always + min(_of_language(name, letters, known) for name in languages)


def _of_language(name: str, letters: Counter[str], words: set[str]) -> float:
    bits, common = _BITS[name]
    spelled = sum(times * bits.get(one.lower()[0], 8.0 if one in _FAMILIAR else 11.0) for one, times in letters.items())
    alone = sum(not word.isascii() and len(word) == 1 and word.lower() not in common for word in words)
    return spelled + _ALONE * alone + float(_LANGUAGES[name]["rarer"]) - _KNOWN_WORD * len(words & common)


def _is_odd(word: str) -> bool:
    """Whether a word mixes scripts or cases as none does."""
    mixed = any(one < "\x80" for one in word) and any(one > "\u036f" for one in word)
    return mixed or (word.lower() != word and not (word.isupper() or word.istitle()))
