"""How the letters of DrawingML look (ISO/IEC 29500-1, 21.1.2.3), as runs, lists of styles and placeholders say it.

A slide takes colours, places and looks of text from its layout, its master and the presentation (19.3.1): a placeholder
is the one of the layout with its number, else of its kind; that of the layout is the one of the master of its kind.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lxml import etree

from pipeline.parse.markup.reading import local_name, whole_number
from pipeline.parse.office.drawing.theme import UNKNOWN, Fill, Theme, over, own_fill, read_theme
from pipeline.parse.office.drawing.view import View
from pipeline.parse.office.package import Package
from pipeline.parse.sight.colours import TRANSPARENT, Colour, Paint
from pipeline.parse.sight.look import Appearance, Box, squeezed

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_USUAL = 18.0  # points
_RELIEF = {A + name for name in ("outerShdw", "innerShdw", "prstShdw", "glow", "fillOverlay")}


class Letters(NamedTuple):
    """The looks that a document states for letters; None where it states none. `size` and `spacing` (beside each
    letter) are in points.

    `line` is drawn around them, `marker` behind them; `relief`: their shadow or glow.
    """

    size: float | None = None
    spacing: float | None = None
    ink: Fill | None = None
    line: Fill | None = None
    marker: Fill | None = None
    relief: Fill | None = None


def _read_letters(properties: etree._Element | None, theme: Theme) -> Letters:
    """The looks that properties of a run (a:rPr, a:defRPr) state; a link has the theme's colour for links."""
    if properties is None:
        return Letters()
    marker = properties.find(A + "highlight")
    ink = own_fill(properties, theme)
    link = theme.colour("hlink") if properties.find(A + "hlinkClick") is not None else None
    effects = properties.find(A + "effectLst")
    line = properties.find(A + "ln")
    return Letters(
        _hundredths(properties.get("sz")),
        _hundredths(properties.get("spc")),
        ink if link is None else [Paint(link)],
        None if line is None else own_fill(line, theme),
        None if marker is None else [theme.paint(marker)],
        None if effects is None else [theme.paint(one) for one in effects if one.tag in _RELIEF],
    )


def _inherited(said: Iterable[Letters]) -> Letters:
    """The looks that hold where several, the nearest first, state some: each field from the first that states it."""
    found = Letters()
    for one in said:
        found = Letters._make(other if own is None else own for own, other in zip(found, one, strict=True))
    return found


def _hides(letters: Letters, behind: Colour, scale: float) -> str | None:
    """How letters in front of a colour are hidden, if they are; they are drawn `scale` times as large as they say."""
    size = (_USUAL if letters.size is None else letters.size) * scale
    plain = Appearance(size=size, stretch=squeezed(letters.spacing or 0.0, size), background=behind)
    if plain.hides or letters.ink is None:
        return plain.hides
    return plain.hides_in([*letters.ink, *(letters.line or []), *(letters.relief or [])] or [Paint(TRANSPARENT)])


def _scale_of(body: etree._Element) -> float:
    """How large the text of a body is drawn, where it was made smaller to fit (a:normAutofit)."""
    fitted = body.find(f"{A}bodyPr/{A}normAutofit")
    scale = "" if fitted is None else fitted.get("fontScale", "")
    percent = whole_number(scale.removesuffix("%").partition(".")[0], 100_000)
    return percent / (100 if scale.endswith("%") else 100_000)


def _hundredths(text: str | None) -> float | None:
    digits = (text or "").removeprefix("-")
    number = whole_number(digits, -1)
    return None if number < 0 else (-number if digits != text else number) / 100


P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_STYLES = {"title": "titleStyle", "dt": "otherStyle", "ftr": "otherStyle", "sldNum": "otherStyle"}
_NO_PLACEHOLDER = "none"
_WITHOUT_FILLS = {"{2D5ABB26-0587-4C30-8999-92F81FD0307C}", "{5940675A-B579-460E-94D1-54222C63F5DA}"}
"""The styles of tables that Office calls "No Style"."""
USUAL_NAMES = {"bg1": "lt1", "tx1": "dk1", "bg2": "lt2", "tx2": "dk2"}
"""The names of the colours of a theme in a document without a map of colours."""


class SlideStyles:
    """The styles of one slide: `trees` are those of the slide, its layout and its master, as far as there are any."""

    def __init__(self, trees: list[etree._Element], theme: Theme, presentation: etree._Element, view: View) -> None:
        self.theme = theme
        self._trees = trees[1:]
        self._view = view
        self._usual = presentation.find(P + "defaultTextStyle")
        self._texts = next((tree.find(P + "txStyles") for tree in reversed(trees)), None)
        self._placeholders = [list(_placeholders(tree)) for tree in self._trees]

    def place(self, shape: etree._Element) -> Box | None:
        """The box of the placeholder whose place a shape takes."""
        boxes = (self._view.box(one) for one in self.origins(shape))
        return next((box for box in boxes if box is not None), None)

    def _said(self, shape: etree._Element, level: int) -> Iterator[Letters]:
        """The looks stated for the letters of a shape's paragraphs at a level, from 1; the nearest comes first."""
        kind = _kind(shape)
        origins = self.origins(shape)
        for holder in (shape, *origins):
            yield self._of_level(holder.find("{*}txBody/" + A + "lstStyle"), level)
        reference = shape.find(f"{{*}}style/{A}fontRef")
        if reference is not None and len(reference):
            yield Letters(ink=[self.theme.paint(reference)])
        if self._texts is not None and kind != _NO_PLACEHOLDER:
            yield self._of_level(self._texts.find(P + _STYLES.get(kind, "bodyStyle")), level)
        yield self._of_level(self._usual, level)
        if self._texts is not None and kind == _NO_PLACEHOLDER:
            yield self._of_level(self._texts.find(P + "otherStyle"), level)

    def hides_run(
        self, shape: etree._Element, paragraph: etree._Element, run: etree._Element, behind: Colour
    ) -> str | None:
        """How a run (a:r) of a paragraph of a shape is hidden by its size or its colours, with a colour behind it.

        PowerPoint does not read the defaults of a paragraph (a:defRPr), others do: text that either hides is hidden.
        """
        properties = (run.find(A + "rPr"), paragraph.find(f"{A}pPr/{A}defRPr"))
        own, usual = (_read_letters(one, self.theme) for one in properties)
        said = list(self._said(shape, _level_of(paragraph)))
        kinds = [self._hides(paragraph, _inherited([own, *said]), own, behind)]
        if usual != Letters():
            kinds.append(self._hides(paragraph, _inherited([own, usual, *said]), _inherited([own, usual]), behind))
        return next((kind for kind in kinds if kind), None)

    def _hides(self, paragraph: etree._Element, letters: Letters, own: Letters, behind: Colour) -> str | None:
        """How letters in a paragraph are hidden; `own` is what is said of them without any style."""
        cell = next(paragraph.iterancestors(A + "tc"), None)
        if cell is not None:
            letters = letters._replace(ink=own.ink)  # a table style may say it
            behind = self._behind_cell(cell, behind)
        body = next(paragraph.iterancestors("{*}txBody"), None)
        return _hides(letters, over(letters.marker, behind), 1.0 if body is None else _scale_of(body))

    def _behind_cell(self, cell: etree._Element, behind: Colour) -> Colour:
        """The colour behind the text of a cell; one without a fill of its own may have one of the table's style."""
        fill = own_fill(cell.find(A + "tcPr"), self.theme)
        if fill is not None:
            return over(fill, behind)
        table = next(cell.iterancestors(A + "tbl"), None)
        style = None if table is None else table.findtext(f"{A}tblPr/{A}tableStyleId")
        return behind if style is None or style.upper() in _WITHOUT_FILLS else UNKNOWN

    def _of_level(self, styles: etree._Element | None, level: int) -> Letters:
        return Letters() if styles is None else _read_letters(styles.find(f"{A}lvl{level}pPr/{A}defRPr"), self.theme)

    def origins(self, shape: etree._Element) -> list[etree._Element]:
        """The placeholders of the layout and of the master that a shape is made from."""
        place, found = _placeholder(shape), list[etree._Element]()
        if place is None:
            return found
        kind, number = _kind(shape), place.get("idx", "0")
        for placeholders in self._placeholders:
            by_number = [one for one, mark in placeholders if not found and mark.get("idx", "0") == number]
            by_kind = [one for one, _ in placeholders if _kind(one) == kind]
            found += (by_kind if kind == "title" or not by_number else by_number)[:1]
        return found


def slide_theme(package: Package, parts: list[str], trees: list[etree._Element]) -> Theme:
    """The theme of a slide, by the names that its master's map of colours, or its layout's or its own, gives them."""
    names, origin = dict(USUAL_NAMES), parts[-1]
    for part, tree in reversed(list(zip(parts, trees, strict=True))):
        origin = part if package.related(part, "themeOverride") else origin
        maps = [tree.find(P + "clrMap"), tree.find(f"{P}clrMapOvr/{A}overrideClrMapping")]
        names |= {str(key): str(value) for one in maps if one is not None for key, value in one.attrib.items()}
    return read_theme(package, origin).renamed(names)


def _level_of(paragraph: etree._Element) -> int:
    """The level of a paragraph, from 1."""
    properties = paragraph.find(A + "pPr")
    return 1 + whole_number(None if properties is None else properties.get("lvl"), 0)


def _placeholder(shape: etree._Element) -> etree._Element | None:
    return shape.find(f"*/{P}nvPr/{P}ph")


def _kind(shape: etree._Element) -> str:
    place = _placeholder(shape)
    kind = _NO_PLACEHOLDER if place is None else place.get("type", "obj")
    return {"ctrTitle": "title", "subTitle": "body", "obj": "body"}.get(kind, kind)


def _placeholders(tree: etree._Element) -> Iterator[tuple[etree._Element, etree._Element]]:
    for mark in tree.iter(P + "ph"):
        shape = next(
            (one for one in mark.iterancestors() if local_name(one.tag) in {"sp", "pic", "graphicFrame"}), None
        )
        if shape is not None:
            yield shape, mark
