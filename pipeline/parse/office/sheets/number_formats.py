"""Number formats of cells (ISO/IEC 29500-1, 18.8.31): which values they show, and which they leave blank.

A format has up to four sections: for what is positive, negative, zero, and for text; or for what a condition holds.
"""

import operator
import re
from functools import lru_cache

_PIECE = re.compile(r'"[^"]*"?|\\.|_.|\*.|\[[^\]]*\]|[^"\\_*\[]', re.DOTALL)
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)(-?\d+(?:\.\d+)?)\]")
_COLOUR_ALONE = re.compile(r"(?:\[[^\]$]*\])+")
_COMPARE = {"<=": operator.le, ">=": operator.ge, "<>": operator.ne, "<": operator.lt, ">": operator.gt,
            "=": operator.eq}  # fmt: skip
_AS_IT_STANDS = "General"


class NumberFormat:
    """A number format, made from its code."""

    def __init__(self, code: str) -> None:
        sections = _sections(code or _AS_IT_STANDS)
        text = sections.pop() if len(sections) > 3 or "@" in _without_literals(sections[-1]) else "@"
        self._numbers = sections[:3] or [_AS_IT_STANDS]
        self.shows_text = bool({"@", _AS_IT_STANDS} & set(_letters(text)))
        self._is_plain = all(map(_shows, self._numbers))

    @property
    def shows_all(self) -> bool:
        """Whether the format leaves no value blank."""
        return self.shows_text and self._is_plain

    def shows(self, number: float) -> bool:
        """Whether the format shows anything of a number."""
        return self._is_plain or _shows(self._section(number))

    def _section(self, number: float) -> str:
        sections = self._numbers
        conditions = [_CONDITION.search(section) for section in sections]
        if any(conditions[:2]):
            for section, condition in zip(sections[:2], conditions, strict=False):
                if condition and _COMPARE[condition[1]](number, float(condition[2])):
                    return section
            return sections[-1]
        place = 1 if number < 0 else 2 if number == 0 else 0
        return sections[place] if place < len(sections) else sections[0]


@lru_cache(1024)
def number_format(code: str) -> NumberFormat:
    """The number format of a code, remembered."""
    return NumberFormat(code)


def _sections(code: str) -> list[str]:
    """The sections of a code, divided at semicolons that are no literals; what follows the fourth is ignored."""
    sections = [""]
    for piece in _PIECE.findall(code):
        if piece == ";":
            sections.append("")
        else:
            sections[-1] += piece
    return sections[:4]


def _letters(section: str) -> list[str]:
    """The signs of a section that stand for the value itself, which a colour alone shows as it stands."""
    if _COLOUR_ALONE.fullmatch(section):
        return [_AS_IT_STANDS]
    plain = _without_literals(section)
    return [_AS_IT_STANDS] if "general" in plain.lower() else list(plain.replace(" ", ""))


def _without_literals(section: str) -> str:
    return "".join(piece for piece in _PIECE.findall(section) if len(piece) == 1)


def _shows(section: str) -> bool:
    """Whether a section draws anything: digits, parts of dates, signs; spaces and widths of letters are nothing."""
    return bool(_COLOUR_ALONE.fullmatch(section)) or any(map(_is_seen, _PIECE.findall(section)))


def _is_seen(piece: str) -> bool:
    if piece.startswith("["):
        return (piece.startswith("[$") and bool(piece[2:].partition("-")[0].strip("] "))) or piece.lower() in _DURATIONS
    return not piece.startswith("_") and bool(piece.removeprefix("\\").removeprefix("*").strip('" \xa0'))


_DURATIONS = {"[h]", "[hh]", "[m]", "[mm]", "[s]", "[ss]"}
