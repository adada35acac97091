"""The numbers that Word draws before paragraphs ("3.2", "(b)", "Article IV"): in no text, yet others refer to them.

ISO/IEC 29500-1, 17.9. A paragraph names a list (numId) and a level, itself or through its style; a list is an instance
of an abstract one, whose levels have a start, a number format and a pattern such as "%1.%2".
"""

from collections.abc import Iterator

from lxml import etree

from pipeline.parse.office.package import Package, whole_number

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_LEVELS = 9
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


class Numbering:
    """The lists of a document and how far each has counted."""

    def __init__(self, package: Package) -> None:
        self._levels: dict[str, dict[int, etree._Element]] = {}  # numId -> level -> w:lvl
        self._list: dict[str, str] = {}  # numId -> the abstract list, which counts for all its instances
        self._counts: dict[str, list[int | None]] = {}
        self._styles: dict[str, etree._Element] = {}
        for part in package.related(package.main, "numbering"):
            self._read_lists(package.xml(part))
        for part in package.related(package.main, "styles"):
            self._styles |= {style.get(W + "styleId", ""): style for style in package.xml(part).iter(W + "style")}

    def label(self, paragraph: etree._Element) -> str:
        """What stands before the paragraph, with a space after it; "" where nothing does. Counts it."""
        number, level = self._place(paragraph)
        levels = self._levels.get(number, {})
        if level not in levels:
            return ""
        counts = self._counts.setdefault(self._list[number], [None] * _LEVELS)
        count = counts[level]
        counts[level] = _start(levels[level]) if count is None else count + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        return _label(levels, level, counts)

    def _read_lists(self, root: etree._Element) -> None:
        abstract = {element.get(W + "abstractNumId", ""): element for element in root.iter(W + "abstractNum")}
        for instance in root.iterchildren(W + "num"):
            name = _value(instance, "abstractNumId") or ""
            number = instance.get(W + "numId", "")
            levels = _by_level(abstract[name]) if name in abstract else {}
            overrides = list(instance.iterchildren(W + "lvlOverride"))
            for override in overrides:
                levels |= _by_level(override)
            self._levels[number] = levels
            self._list[number] = number if overrides else name  # an override begins to count anew

    def _place(self, paragraph: etree._Element) -> tuple[str, int]:
        """numId and level of a paragraph: its own, else those of its style and the styles that one is based on."""
        number: str | None = None
        level: str | None = None
        for properties in self._properties(paragraph):
            own = properties.find(W + "numPr")
            if own is not None:
                number = number or _value(own, "numId")
                level = level or _value(own, "ilvl")
        return number or "", whole_number(level, 0)

    def _properties(self, paragraph: etree._Element) -> Iterator[etree._Element]:
        properties = paragraph.find(W + "pPr")
        if properties is None:
            return
        yield properties
        style, seen = _value(properties, "pStyle"), set[str]()
        while style and style in self._styles and style not in seen:
            seen.add(style)
            element = self._styles[style]
            if (properties := element.find(W + "pPr")) is not None:
                yield properties
            style = _value(element, "basedOn")


def _label(levels: dict[int, etree._Element], level: int, counts: list[int | None]) -> str:
    pattern, form = _value(levels[level], "lvlText") or "", _value(levels[level], "numFmt")
    if form == "bullet":
        return "- " if pattern.strip() else ""
    if form == "none":
        return ""
    for place in range(level + 1):
        if place in levels:
            count = counts[place]
            shown = _start(levels[place]) if count is None else count
            pattern = pattern.replace(f"%{place + 1}", _format(shown, _value(levels[place], "numFmt")))
    return pattern.strip() + " " if pattern.strip() else ""


def _format(number: int, form: str | None) -> str:
    if form in {"lowerLetter", "upperLetter"} and number > 0:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 % 20 + 1)
        return letters.upper() if form == "upperLetter" else letters
    if form in {"lowerRoman", "upperRoman"} and 0 < number < 4000:
        return _roman(number).upper() if form == "upperRoman" else _roman(number)
    return f"{number:02d}" if form == "decimalZero" else str(number)


def _roman(number: int) -> str:
    digits = ""
    for value, letters in _ROMAN:
        times, number = divmod(number, value)
        digits += letters * times
    return digits


def _by_level(element: etree._Element) -> dict[int, etree._Element]:
    levels = {level.get(W + "ilvl", ""): level for level in element.iterchildren(W + "lvl")}
    numbered = {whole_number(place, _LEVELS): level for place, level in levels.items()}
    return {place: level for place, level in numbered.items() if place < _LEVELS}


def _start(level: etree._Element) -> int:
    return whole_number(_value(level, "start"), 1)


def _value(element: etree._Element, name: str) -> str | None:
    found = element.find(W + name)
    return None if found is None else found.get(W + "val")
