"""Number formats of cells (ISO/IEC 29500-1, 18.8.31): which of its sections a value takes, and what that shows of it.

A format has up to four sections: for what is positive, negative, zero, and for text; or for what a condition holds. It
may leave a value blank, and it may write something else than the value: then what it shows is doubtful.
"""

import operator
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from pipeline.parse.office.cells import digits_of, number_kind, number_text
from pipeline.parse.office.drawing.theme import rgb
from pipeline.parse.sight.colours import RGB

_PIECE = re.compile(r'"[^"]*"?|\\.|_.|\*.|\[[^\]]*\]|General|E[+-]|[^"\\_*\[]', re.DOTALL | re.IGNORECASE)
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)(-?\d+(?:\.\d+)?)\]")
_COLOUR_ALONE = re.compile(r"(?:\[[^\]$]*\])+")
_COMPARE = {"<=": operator.le, ">=": operator.ge, "<>": operator.ne, "<": operator.lt, ">": operator.gt,
            "=": operator.eq}  # fmt: skip
_AS_IT_STANDS = "General"
_DURATIONS = {"[h]", "[hh]", "[m]", "[mm]", "[s]", "[ss]"}
_DIGITS = frozenset("0#?")
_PLACES = frozenset("0123456789#?")
_JOINS_DIGITS = re.compile(r"[.,'/^\u2019\u00b7\u066b\u066c\u2044]")  # between digits they make another number
_UNIT = re.compile(r"(?<=[^\W\d])[\u00b2\u00b3]")  # m², cm³
_ZEROS = re.compile("[Oo\u041e\u043e\u039f\u03bf]+")  # letters that look like zeros
_MINUS = "-\u2212\u2013("
_MOST = 30  # digits behind the point, as Excel allows
_LARGEST = 1e21
_EXACT = Context(prec=60, rounding=ROUND_HALF_UP)
_BASIC = "000000 FFFFFF FF0000 00FF00 0000FF FFFF00 FF00FF 00FFFF"
PALETTE = (
    f"{_BASIC} {_BASIC} 800000 008000 000080 808000 800080 008080 C0C0C0 808080 9999FF 993366 FFFFCC CCFFFF 660066 "
    "FF8080 0066CC CCCCFF 000080 FF00FF FFFF00 00FFFF 800080 800000 008080 0000FF 00CCFF CCFFFF CCFFCC FFFF99 99CCFF "
    "FF99CC CC99FF FFCC99 3366FF 33CCCC 99CC00 FFCC00 FF9900 FF6600 666699 969696 003366 339966 003300 333300 993300 "
    "993366 333399 333333 000000 FFFFFF"
).split()  # 18.8.27; 64 and 65 are the colours of the system
_COLOURS = {"black": "000000", "white": "FFFFFF", "red": "FF0000", "green": "00FF00", "blue": "0000FF",
            "yellow": "FFFF00", "magenta": "FF00FF", "cyan": "00FFFF"}  # fmt: skip
_COLOURS |= {f"color{number - 7}": PALETTE[number] for number in range(8, 64)}


class Shown(NamedTuple):
    """What a cell shows of its value, and whether that says something else than the value."""

    text: str
    doubtful: bool = False


class NumberFormat:
    """A number format, made from its code."""

    def __init__(self, code: str) -> None:
        sections = [""]  # divided at semicolons that are no literals; what follows the fourth is ignored
        for piece in _PIECE.findall(code or _AS_IT_STANDS):
            if piece == ";":
                sections.append("")
            else:
                sections[-1] += piece
        sections = sections[:4]
        text = sections.pop() if len(sections) > 3 or "@" in _without_literals(sections[-1]) else "@"
        self._numbers = [Section(one) for one in sections[:3] or [_AS_IT_STANDS]]
        self._text = Section(text)
        every = [*self._numbers, self._text]
        self.is_plain = all(section.shows and not section.colour for section in every)
        """Whether it shows something of every value, in no colour of its own."""
        self.is_dated = any(section.kind for section in self._numbers)
        self._has_conditions = any(section.condition for section in self._numbers[:2])

    def shows(self, number: float | None) -> bool:
        """Whether the format shows anything of a number, or of text for None."""
        return (self._text if number is None else self._section(number)).shows

    def colour(self, number: float | None) -> RGB | None:
        """The colour that the format gives to a number, or to text for None, if it says one."""
        return (self._text if number is None else self._section(number)).colour

    def show(self, number: float, stored: str, epoch: int) -> Shown:
        """What the format shows of a number, which is `stored` so; dates in ISO form."""
        section = self._section(number)
        if section.kind or not -_LARGEST < number < _LARGEST:  # also what is no number
            return Shown(number_text(stored, section.kind, epoch), section.has_digits)
        implied = section is not self._numbers[0] and not self._has_conditions
        shown = section.write(number, stored, implied)
        if not implied or number >= 0:
            return shown
        text, doubtful = shown
        if any(map(str.isdecimal, text)) and not any(sign in text for sign in _MINUS):
            if section.colour:
                return Shown("-" + text, doubtful)
            doubtful |= section.words == self._numbers[0].words
        return Shown(text, doubtful)

    def show_text(self, text: str) -> Shown:
        """What the format shows of a text."""
        if self._text.shows_text and not self._text.words:
            return Shown(text)
        pieces = [text if piece in {"@", _AS_IT_STANDS} else _literal(piece) for piece in self._text.pieces]
        return Shown("".join(pieces).strip(), not self._text.shows_text or self._text.has_digits)

    def _section(self, number: float) -> "Section":
        sections = self._numbers
        if len(sections) == 1:
            return sections[0]
        if self._has_conditions:
            for section in sections[:2]:
                if section.condition and _COMPARE[section.condition[0]](number, section.condition[1]):
                    return section
            return sections[-1]
        place = 1 if number < 0 else 2 if number == 0 else 0
        return sections[place] if place < len(sections) else sections[0]


@lru_cache(1024)
def number_format(code: str) -> NumberFormat:
    """The number format of a code, remembered."""
    return NumberFormat(code)


class Section:
    """One section of a number format: what stands before, within and after the digits of a number."""

    def __init__(self, code: str) -> None:
        self.pieces: list[str] = _PIECE.findall(code)
        self.kind = number_kind(code)
        self._is_colour = bool(_COLOUR_ALONE.fullmatch(code))  # then values are shown as they are
        self.shows = self._is_colour or any(map(_is_seen, self.pieces))
        """Whether it draws anything: digits, parts of dates, signs; spaces and widths of letters are not."""
        plain = _without_literals(code)
        self.shows_text = self._is_colour or "@" in plain or "general" in plain.lower()
        found = _CONDITION.search(code)
        self.condition = (found[1], float(found[2])) if found else None
        names = [piece[1:-1].lower().replace(" ", "") for piece in self.pieces if piece.startswith("[")]
        self.colour = next((rgb(_COLOURS[name]) for name in names if name in _COLOURS), None)
        codes = _codes(self.pieces)
        coded = zip(self.pieces, codes, strict=True)
        self.words = "".join(_literal(piece) for piece, code in coded if code in {"", "%"}).strip()
        filled = "".join(piece[1:] for piece in self.pieces if piece.startswith("*"))
        zeros = not _DIGITS.isdisjoint(codes) and bool(_ZEROS.fullmatch(self.words))
        self.has_digits = zeros or any(map(str.isnumeric, _UNIT.sub("", self.words) + filled))
        self._lay_out(codes)

    def _lay_out(self, codes: list[str]) -> None:
        general = [place for place, code in enumerate(codes) if code in {"general", "@"}]
        digits = [place for place, code in enumerate(codes) if code in _PLACES]
        self._is_general, self._has_places = bool(general), bool(digits)
        places = digits or general or [len(codes)]
        first, end = places[0], places[-1] + 1
        while self._has_places and end < len(codes) and codes[end] == ",":
            end += 1
            codes[end - 1] = "k"
        point = codes.index(".") if "." in codes else end
        while self._has_places and codes[point - 1] == ",":
            point -= 1
            codes[point] = "k"
        self._before, self._after = ("".join(map(_literal, some)) for some in (self.pieces[:first], self.pieces[end:]))
        self._parts = [(code, "" if code else _literal(piece)) for code, piece in
                       zip(codes[first:end], self.pieces[first:end], strict=True)]  # fmt: skip
        self._shift = 2 * codes.count("%") - 3 * codes.count("k")
        codes = codes[first:end]
        self._is_grouped = "," in codes
        self._point, self._power, self._slash = (
            codes.index(sign) if sign in codes else len(codes) for sign in (".", "E", "/")
        )
        is_number = self._power == self._slash == len(codes)
        whole, point_sign, behind = "".join(code for code in codes if code != "k").partition(".")
        self._zeros, self._decimals = whole.count("0"), len(behind)
        self._is_simple = (  # as of nearly all formats, whose digits follow one another
            is_number and all(codes) and "?" not in whole and not behind.strip("0") and self._zeros > 0
            and (self._zeros == 1 or not self._is_grouped) and bool(point_sign) == bool(behind)
        )  # fmt: skip
        self._joins_digits = is_number and any(_JOINS_DIGITS.search(text) for _, text in self._parts)
        before = self._before.strip()
        self._looks_negative = before.endswith(("-", "\u2212", "\u2013")) or (
            before.endswith("(") and ")" in self._after
        )

    def write(self, number: float, stored: str, implied: bool) -> Shown:
        """A number as the section writes it; `implied`: the section itself says that it is negative."""
        if not self._has_places:
            if not self._is_general and not self._is_colour:
                return Shown(self.words, self.has_digits or number != 0)
            text = number_text(stored.lstrip("-") if implied else stored, "", 0)
            return Shown(f"{self._before}{text}{self._after}".strip(), self.has_digits)
        if self._power < len(self._parts):
            digits = self._as_power(abs(number))
        else:
            digits = self._as_fraction(abs(number)) if self._slash < len(self._parts) else self._spread(abs(number))
        text = f"{self._before}{digits}{self._after}".strip()
        if number < 0 and not implied and not self._looks_negative:
            text = "-" + text
        is_doubtful = self.has_digits or self._joins_digits  # other digits than the number's
        return Shown(text, is_doubtful or (self._looks_negative and number > 0))

    def _spread(self, number: float) -> str:
        """The digits put into their places, with what stands between these."""
        if self._is_simple:
            digits = rounded(number, self._decimals, self._shift)
            if self._is_grouped and len(digits) > 3:
                before, point, after = digits.partition(".")
                return f"{int(before):,}{point}{after}"
            return digits if self._zeros == 1 else digits.zfill(self._zeros + self._decimals + (self._decimals > 0))
        whole, behind = self._parts[: self._point], self._parts[self._point :]
        decimals = sum(code in _DIGITS for code, _ in behind)
        digits, _, left = rounded(number, decimals, self._shift).partition(".")
        digits, written, count = digits.lstrip("0"), list[str](), 0
        first = next((place for place, (code, _) in enumerate(whole) if code in _DIGITS), 0)
        for place in range(len(whole) - 1, -1, -1):
            code, text = whole[place]
            if code not in _DIGITS:
                written.append(text)
                continue
            taken = digits[-1:] if place != first else digits
            digits = digits[: len(digits) - len(taken)]
            for digit in reversed(taken or {"0": "0", "?": " "}.get(code, "")):
                written.append("," if self._is_grouped and count and count % 3 == 0 and digit != " " else "")
                written.append(digit)
                count += 1
        shown = digits + "".join(reversed(written))
        for code, text in behind:
            if code in _DIGITS:
                shown += left[:1] if left.strip("0") or code == "0" else " " if code == "?" else ""
                left = left[1:]
            else:
                shown += "." if code == "." else text
        return shown

    def _as_power(self, number: float) -> str:
        """The number as a power of ten, whose exponent is a multiple of how many digits stand before the point."""
        whole, _, behind = "".join(code for code, _ in self._parts[: self._power]).partition(".")
        wide, decimals = max(1, len(whole.replace(",", ""))), len(behind)
        exponent = int(f"{number:e}".partition("e")[2]) // wide * wide
        mantissa = rounded(number, decimals, -exponent)
        if len(mantissa.partition(".")[0]) > wide:
            exponent += wide
            mantissa = rounded(number, decimals, -exponent)
        if "#" in behind:
            mantissa = mantissa.rstrip("0").rstrip(".")
        sign = "-" if exponent < 0 else "+"
        return f"{mantissa}E{sign}{abs(exponent):0{len(self._parts) - self._power - 1}d}"

    def _as_fraction(self, number: float) -> str:
        """The number as a whole and a fraction, or as a fraction alone."""
        below = "".join(code for code, _ in self._parts[self._slash + 1 :])
        exact = Fraction(repr(number))
        if below.isdecimal() and below.strip("0"):
            under = int(below)
            above = int(exact * under + Fraction(1, 2))
        else:
            above, under = exact.limit_denominator(10 ** min(len(below), 5) - 1).as_integer_ratio()
        if all(code for code, _ in self._parts[: self._slash]):
            return f"{above}/{under}"
        count, above = divmod(above, under)
        return f"{count or ''} {above}/{under}".strip() if above else str(count)


def rounded(number: float, decimals: int, shift: int = 0) -> str:
    """A number times ten to the power of `shift`, with so many decimals; halves are rounded up, as they are written."""
    decimals = min(decimals, _MOST)
    scaled = number * 10.0**decimals
    if not shift and scaled < 1e15 and abs(scaled % 1 - 0.5) > 1e-6:
        return f"{number:.{decimals}f}"
    exact = Decimal(digits_of(number)).scaleb(shift)
    return f"{exact.quantize(Decimal(1).scaleb(-decimals), context=_EXACT):f}"


def _without_literals(code: str) -> str:
    return "".join(piece for piece in _PIECE.findall(code) if piece[:1] not in tuple('"\\_*['))


def _is_seen(piece: str) -> bool:
    if piece.startswith("["):
        return bool(_literal(piece).strip()) or piece.lower() in _DURATIONS
    return not piece.startswith("_") and bool(piece.removeprefix("\\").removeprefix("*").strip('" \xa0'))


def _codes(pieces: list[str]) -> list[str]:
    """For each piece what it stands for in a number: a place of a digit, ".", ",", "%", "/", "E"; "" for a literal."""
    codes = [piece.lower() if piece in {*_DIGITS, "@", "%"} or piece.lower() == "general" else "" for piece in pieces]
    for place, piece in enumerate(pieces):
        before, after = codes[place - 1] if place else "", pieces[place + 1 : place + 2]
        follows, leads = before in _PLACES, not _DIGITS.isdisjoint(after)
        if piece == "." and "." not in codes:
            codes[place] = "." if follows or leads or before == "," else ""
        elif piece == ",":
            codes[place] = "," if follows or before == "," else ""
        elif piece in {"/", "E+", "E-", "e+", "e-"} and (leads or (piece == "/" and after and after[0].isdecimal())):
            codes[place] = piece[0].upper() if "".join(codes).strip("%") else ""
        elif "/" in codes and piece.isdecimal() and (before == "/" or before.isdecimal()):
            codes[place] = piece  # what is divided by
    return codes


def _literal(piece: str) -> str:
    """What a piece writes itself, whatever the value is; "%" is written, too."""
    if piece.startswith("["):
        return piece[2:-1].partition("-")[0] if piece.startswith("[$") else ""
    if piece[:1] in {"_", "*"}:
        return " " if piece[:1] == "_" else ""
    if piece[:1] in {'"', "\\"}:
        return piece.strip('"') if piece[0] == '"' else piece[1:]
    return "" if piece in {*_DIGITS, "@"} or piece.lower() == "general" else piece
