"""The signs of symbol fonts, which have no letters: Symbol's "m" is µ, and a þ of Wingdings is a ticked box.

By Unicode's own lists: Adobe's Symbol and Zapf Dingbats (VENDORS/ADOBE/symbol.txt, zdingbat.txt; brackets and serifs in
pieces by the characters that Unicode has for them since), Wingdings and Webdings by the sources of Unicode 7.0
(L2/12-368, WDingsSources.txt). Windows puts the places of these fonts at U+F020 and above.
"""

import json
import re
from functools import lru_cache
from pathlib import Path
from unicodedata import category

UNKNOWN_SIGN = "\ufdd6"
"""No character at all: a sign that is in no table, on its way to the writer, which counts it and writes U+FFFD."""
_ALIASES = {
    **dict.fromkeys(("symbolmt", "standardsymbolsl", "standardsymbolsps"), "symbol"),
    **dict.fromkeys(("itczapfdingbats", "dingbats", "monotypesorts"), "zapfdingbats"),
    "wingdingsregular": "wingdings",
}
_PRIVATE = re.compile("[\uf020-\uf0ff]")
_PLACES = re.compile("[\x21-\x7e\xa1-\xff\uf020-\uf0ff]")  # a space is one in all fonts
_BOXES = {**dict.fromkeys("⌧☑☒⮽🗵🗷🗹", "[x]"), **dict.fromkeys("□⬜❏❐❑❒🞎🞏🞐🞑🞒🞓", "[ ]"), "\ufffd": UNKNOWN_SIGN}
_FIRST = 0x20
_SIGNS: dict[str, str] = json.loads(Path(__file__).with_name("symbols.json").read_text("utf-8"))
"""By font, the signs at 0x20 to 0xFF; U+FFFD where there is none."""
TICKS = frozenset("✓✔✗✘🗴🗶🗸☐☑☒") | {"[x]", "[ ]"}
"""Signs that say yes or no, also where they stand as the bullet of a list."""


def shown_in(font: str, text: str, *, of_signs: bool = False) -> str:
    """The text as a font shows it. `of_signs`: the document says that it is a symbol font.

    A sign that is in no table is UNKNOWN_SIGN; so is one at the places of these fonts in any other font.
    """
    if text.isspace():
        return text
    signs = _signs(font)
    if not signs and not of_signs:
        return text if text.isascii() else _PRIVATE.sub(UNKNOWN_SIGN, text)
    return _PLACES.sub(lambda place: _sign(signs, ord(place[0]) & 0xFF), text)


def has_signs(font: str) -> bool:
    """Whether a font is one of the tables."""
    return bool(_signs(font))


def is_in_question(font: str, text: str) -> bool:
    """Whether what a font makes of letters reads otherwise than in a system without it: as another letter or digit, a
    tick, or a sign of mathematics."""
    signs = _signs(font)
    asked = (one for one in text if signs and (one.isalnum() or "\xa0" < one <= "\xff") and _PLACES.match(one))
    made = ((one, _sign(signs, ord(one))) for one in asked)
    return any(new != one and (new.isalnum() or new in TICKS or category(new[0]) == "Sm") for one, new in made)


@lru_cache(256)
def _signs(font: str) -> str:
    name = re.sub("[^a-z0-9]", "", font.lower())
    return _SIGNS.get(_ALIASES.get(name, name), "")


def _sign(signs: str, place: int) -> str:
    one = signs[place - _FIRST] if signs else "\ufffd"
    return _BOXES.get(one, one)
