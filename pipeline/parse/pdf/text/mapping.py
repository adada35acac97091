"""Whether the characters of a page are those that its glyphs show, or what fonts without a mapping leave of them.

A PDF stores glyphs. Which characters they are, a font tells by a ToUnicode map, an encoding or the names of its glyphs
(ISO 32000-2, 9.10); one that tells nothing gives numbers of glyphs instead, private characters, controls or none.
"""

import re
from collections.abc import Collection
from enum import Enum, auto
from itertools import accumulate

from pipeline.parse.encoding.legible import has_strange_letters, share_of_odd_words
from pipeline.parse.pdf.text.hyphens import MARK
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.pdf.text.said import Said
from pipeline.text.language import language

_BAD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")
_TOKEN = re.compile(r"[^ \t\r\n\u00a0\u3000]+")  # controls are white space elsewhere
_MANY = 0.1  # of the letters of a page that stand in words with an unknown character
_ODD = 0.5  # of a page that reads like no words at all
_LEAST = 40  # characters of a page that are judged by how they read
_COMMON = (" the ", " of ", " and ", " to ", " der ", " die ", " und ", " de ", " la ", " en ", " et ", " di ", " van ")
_SAMPLE = 3000  # characters that are looked at for them
_FEW = 3  # of these in a page that reads like words; to look closer would cost as much as to read it


class Mapping(Enum):
    """How much of a page's text is what it shows."""

    WHOLE = auto()
    DOUBTFUL = auto()  # it reads as if letters stood for others
    DAMAGED = auto()  # a few words have unknown characters in them
    LOST = auto()


def judge(page: Page, text: str, said: Said, fonts: Collection[int]) -> Mapping:
    """How far the text of a page, whose characters are loaded, can be believed. `text` is as the page gives it.

    What its fonts say is believed; how it reads decides where they do not say.
    """
    bad = {match.start() for match in _BAD.finditer(text)} | page.next_to_dropped(text) | _unmapped(page, text)
    if MARK in text:  # a font maps to nothing what then looks like words divided at the end of a line
        bad |= {place for place, one in enumerate(text) if one == MARK and not page.is_hyphen(place)}
    share = 0.0  # of the text in words with a bad character in them; a private sign that stands alone may be a bullet
    if bad:
        spans = [token.span() for token in _TOKEN.finditer(text)]
        damaged = sum(end - at for at, end in spans if end - at > 1 and not bad.isdisjoint(range(at, end)))
        share = damaged / max(1, sum(end - at for at, end in spans))
    if share >= _MANY:
        return Mapping.LOST
    if len(text) < _LEAST or _has_common_words(text) or language(text) is not None:
        return Mapping.DAMAGED if share else Mapping.WHOLE
    odd = share_of_odd_words(text) >= _ODD
    if (odd or has_strange_letters(text)) and not said.says(fonts):
        return Mapping.LOST if odd else Mapping.DOUBTFUL
    return Mapping.DAMAGED if share else Mapping.WHOLE


def _has_common_words(text: str) -> bool:
    counts = map(text[:_SAMPLE].lower().replace("\xa0", " ").count, _COMMON)
    return any(found >= _FEW for found in accumulate(counts))  # mostly the first says it


def _unmapped(page: Page, text: str) -> set[int]:
    """The places in the text of characters that a font does not map, unless they read as a language all the same, and
    are so much of the text that they are one font's, of which no letter is mapped.

    Numbers of glyphs are often those of ASCII, so that nothing is lost.
    """
    places = page.text_places(page.unmapped())
    words = [one[0] for one in _TOKEN.finditer(text) if not places.isdisjoint(range(*one.span()))] if places else []
    are_all = 2 * sum(map(len, words)) >= len("".join(text.split()))
    return set() if words and are_all and language(" ".join(words)) is not None else places
