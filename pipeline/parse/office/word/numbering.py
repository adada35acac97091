"""The numbers that Word draws before paragraphs ("3.2", "(b)", "Article IV"): in no text, yet others refer to them.

ISO/IEC 29500-1, 17.9. A paragraph names a list (numId) and a level, itself or through its style; a list is an instance
of an abstract one, whose levels have a start, a number format and a pattern such as "%1.%2".
"""

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.numerals import format_number
from pipeline.parse.office.package import Package
from pipeline.parse.office.word.styles import Style, WordStyles, value

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_LEVELS = 9


class Numbering:
    """The lists of a document and how far each has counted."""

    def __init__(self, package: Package, styles: WordStyles) -> None:
        self._levels: dict[str, dict[int, etree._Element]] = {}  # numId -> level -> w:lvl
        self._list: dict[str, str] = {}  # numId -> the abstract list, which counts for all its instances
        self._counts: dict[str, list[int | None]] = {}
        for part in package.related(package.main, "numbering"):
            self._read_lists(package.xml(part), styles)

    def label(self, style: Style) -> str:
        """Count a paragraph of a style, and return its label with a space after it; "" where it is not numbered."""
        number, level = style.number or "", whole_number(style.level, 0)
        levels = self._levels.get(number, {})
        if level not in levels:
            return ""
        counts = self._counts.setdefault(self._list[number], [None] * _LEVELS)
        count = counts[level]
        counts[level] = _start(levels[level]) if count is None else count + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        return _label(levels, level, counts)

    def level(self, style: Style) -> etree._Element | None:
        """The level (w:lvl) of a list that says how the number of such a paragraph looks."""
        return self._levels.get(style.number or "", {}).get(whole_number(style.level, 0))

    def _read_lists(self, root: etree._Element, styles: WordStyles) -> None:
        abstract = {element.get(W + "abstractNumId", ""): element for element in root.iter(W + "abstractNum")}
        names = {num.get(W + "numId", ""): value(num, "abstractNumId") or "" for num in root.iterchildren(W + "num")}
        for instance in root.iterchildren(W + "num"):
            number = instance.get(W + "numId", "")
            name = names[number]
            if linked := value(abstract.get(name), "numStyleLink"):  # a list style, which names the list proper
                name = names.get(styles.style(linked).number or "", name)
            levels = _by_level(abstract[name]) if name in abstract else {}
            overrides = list(instance.iterchildren(W + "lvlOverride"))
            for override in overrides:
                levels |= _by_level(override)
            self._levels[number] = levels
            self._list[number] = number if overrides else name  # an override begins to count anew


def _label(levels: dict[int, etree._Element], level: int, counts: list[int | None]) -> str:
    pattern, form = value(levels[level], "lvlText") or "", value(levels[level], "numFmt")
    if form == "bullet":
        return "- " if pattern.strip() else ""
    if form == "none":
        return ""
    for place in range(level + 1):
        if place in levels:
            count = counts[place]
            shown = _start(levels[place]) if count is None else count
            pattern = pattern.replace(f"%{place + 1}", format_number(shown, value(levels[place], "numFmt")))
    return pattern.strip() + " " if pattern.strip() else ""


def _by_level(element: etree._Element) -> dict[int, etree._Element]:
    levels = {level.get(W + "ilvl", ""): level for level in element.iterchildren(W + "lvl")}
    numbered = {whole_number(place, _LEVELS): level for place, level in levels.items()}
    return {place: level for place, level in numbered.items() if place < _LEVELS}


def _start(level: etree._Element) -> int:
    return whole_number(value(level, "start"), 1)
