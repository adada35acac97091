"""Counts as a list shows them: digits, letters and Roman numerals; and those that shapes draw before their paragraphs
(ISO/IEC 29500-1, 21.1.2.4.1): "2.", "(b)", "IV)"; bullets that say yes or no.
"""

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.sight.symbols import TICKS, shown_in

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


def count_on(counts: list[int | None], level: int, start: int) -> None:
    """Count an item of a level, the first as `start`; the levels below it begin anew."""
    before = counts[level]
    counts[level:] = [start if before is None else before + 1, *[None] * (len(counts) - level - 1)]


def format_number(number: int, form: str | None) -> str:
    """A count in one of the forms of numbers (ST_NumberFormat); unknown ones as decimal."""
    if form in {"lowerLetter", "upperLetter"} and number > 0:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 % 20 + 1)
        return letters.upper() if form == "upperLetter" else letters
    if form in {"lowerRoman", "upperRoman"} and 0 < number < 4000:
        digits = ""
        for worth, letters in _ROMAN:
            times, number = divmod(number, worth)
            digits += letters * times
        return digits.upper() if form == "upperRoman" else digits
    return f"{number:02d}" if form == "decimalZero" else str(number)


A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_BULLETS = {A + "buAutoNum", A + "buChar", A + "buBlip", A + "buNone"}
_FORMS = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"}
_AROUND = {"Period": "{}.", "ParenR": "{})", "ParenBoth": "({})", "Plain": "{}", "Minus": "- {} -"}


class Bullets:
    """The numbers of one body of text: its own, as its paragraphs or its list styles say; not those of a layout."""

    def __init__(self, body: etree._Element) -> None:
        self._levels = {level.tag.removeprefix(A): level for styles in body.iterchildren(A + "lstStyle")
                        for level in styles}  # fmt: skip
        self._counts: dict[int, tuple[str, int, int]] = {}  # the scheme of each level, its first number, the last

    def label(self, paragraph: etree._Element) -> str:
        """Count a paragraph that has text, and return its number with a space after it, or its bullet where that says
        yes or no; "" for other paragraphs."""
        own = paragraph.find(A + "pPr")
        level = whole_number(own.get("lvl") if own is not None else None, 0)
        self._counts = {deep: count for deep, count in self._counts.items() if deep <= level}
        holders = (one for one in (own, self._levels.get(f"lvl{level + 1}pPr")) if one is not None)
        bullet = next((one for holder in holders for one in holder if one.tag in _BULLETS), None)
        if bullet is None or bullet.tag != A + "buAutoNum":
            self._counts.pop(level, None)
            font = None if bullet is None or bullet.tag != A + "buChar" else bullet.getparent().find(A + "buFont")
            typeface = "" if font is None else font.get("typeface", "")
            return "" if bullet is None else tick(bullet.get("char", ""), typeface)
        scheme, start = bullet.get("type", "arabicPeriod"), whole_number(bullet.get("startAt"), 1)
        before = self._counts.get(level)
        number = before[2] + 1 if before is not None and before[:2] == (scheme, start) else start
        self._counts[level] = scheme, start, number
        return drawn_number(scheme, number)


def tick(sign: str, font: str) -> str:
    """A bullet that says yes or no, with a space after it; "" for any other."""
    shown = shown_in(font, sign.strip())
    return shown + " " if shown in TICKS else ""


def drawn_number(scheme: str, number: int) -> str:
    """A number as a scheme (ST_TextAutonumberScheme) draws it, with a space after it."""
    pattern = next((pattern for end, pattern in _AROUND.items() if scheme.endswith(end)), "{}.")
    form = next((form for begin, form in _FORMS.items() if scheme.startswith(begin)), None)
    return pattern.format(format_number(number, form)) + " "
