"""The text of a Word document that a person sees, by the one rule of appearance.py.

ISO/IEC 29500-1, 17.3.2: a property holds as the run says it, else its character style, the paragraph's style, the
style of the table, the defaults. Where what is behind a text is not known (a picture behind it) it counts as seen.
A table style (17.4 and 17.7.6) has a look for the whole table and others for its first and last rows and columns, its
bands and corners, of which the table (w:tblLook) says which count.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.drawing.theme import UNKNOWN
from pipeline.parse.office.word.boxes import Boxes
from pipeline.parse.office.word.controls import Controls
from pipeline.parse.office.word.looks import AUTO, OFF, PLAIN, Look, W, over, points, read_fill, read_look
from pipeline.parse.office.word.sections import Frame, Page, Sections, indented, moved, read_floating, widest
from pipeline.parse.office.word.styles import Style, WordStyles, value
from pipeline.parse.sight.colours import TRANSPARENT, WHITE, Colour
from pipeline.parse.sight.look import Appearance, squeezed
from pipeline.parse.sight.raised import lowered, raised, struck
from pipeline.parse.sight.symbols import has_signs, shown_in

_REMEMBERED = 10_000
_USUAL = 20  # half points, where no style says a size


class Around(NamedTuple):
    """The surroundings of a paragraph: the colour behind it, the height that cuts its lines, its table's look.

    `origin` is how far from the left edge of the page its left margin may lie, in points.
    """

    behind: Colour = WHITE
    line: float = math.inf
    table: Look = PLAIN
    origin: float = math.inf

    def on(self, fill: Colour | None) -> "Around":
        """These surroundings with a fill behind the paragraph, if there is one."""
        return self if fill in {None, TRANSPARENT} else self._replace(behind=fill)


_NO_SIGNS = ("", False)


class Run(NamedTuple):
    """How the text of a run is drawn: how it is hidden, if it is; above the line (1) or below it (-1), struck out.

    `fonts` are that of ASCII and that of other letters, each with whether the document says that it has signs alone.
    """

    hides: str | None = None
    height: int = 0
    is_struck: bool = False
    fonts: tuple[tuple[str, bool], tuple[str, bool]] = (_NO_SIGNS, _NO_SIGNS)

    def text(self, text: str) -> str:
        """What is shown of a text (w:t), with the marks of runs that are raised, lowered or struck out."""
        if text.isascii() and self.fonts[0] is _NO_SIGNS:
            return self.marked(text)
        pieces = [text] if self.fonts[0] == self.fonts[1] or text.isascii() else list(text)
        return self.marked("".join(self._in_font(piece) for piece in pieces))

    def marked(self, text: str) -> str:
        """The text with the marks of runs that are raised, lowered or struck out."""
        text = raised(text) if self.height > 0 else lowered(text) if self.height < 0 else text
        return struck(text) if self.is_struck else text

    def _in_font(self, text: str) -> str:
        name, of_signs = self.fonts[not text.isascii()]
        return shown_in(name, text, of_signs=of_signs)


class Sight:
    """How the text of a document looks."""

    def __init__(self, styles: WordStyles, sections: Sections, controls: Controls) -> None:
        self.styles = styles
        self.controls = controls
        self.boxes = Boxes(styles.theme, sections.page, alone=sections.floats <= 1)
        self.first = Around(sections.behind, origin=sections.page.origin)
        self.page = sections.page
        self._known: dict[tuple[Look, str | None, Style, Around], Run] = {}

    def hides(self, run: etree._Element, style: Style, around: Around) -> str | None:
        """How a run (w:r) in a paragraph of a style is hidden, if it is."""
        return self.run(run, style, around).hides

    def run(self, run: etree._Element, style: Style, around: Around) -> Run:
        """How a run (w:r) in a paragraph of a style is drawn."""
        properties = run.find(W + "rPr")
        seen = (read_look(properties, self.styles.theme), value(properties, "rStyle"), style, around)
        if seen not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[seen] = self._judge(*seen)
        return self._known[seen]

    def hides_paragraph(self, style: Style, text: str, around: Around) -> str | None:
        """How a paragraph of a style is hidden as a whole, if it is, by the place of its frame or by its indents."""
        if style.frame is not None:
            return style.frame.appearance(self.page, around.origin).hides
        if style.aligned not in {None, "left", "start", "both"} or style.number is not None or "\t" in text:
            return None
        start, end, first = style.left or 0.0, style.right or 0.0, style.first or 0.0
        if not start and not first:
            return None
        size = (style.look.size or self.styles.defaults.size or _USUAL) / 2
        origin, width = min(around.origin, self.page.width), widest(len(text), size)
        hides = indented(self.page, origin, start + first, end, width).hides
        if hides is None or width <= self.page.width - start - first - end:
            return hides
        return indented(self.page, origin, start, end, width).hides

    def _judge(self, own: Look, named: str | None, style: Style, around: Around) -> Run:
        character = self.styles.style(named).look if named else PLAIN
        said = over(own, over(character, style.look))
        look = over(said, over(around.table, self.styles.defaults))
        ascii_font, other_font = map(self._font, look.fonts or ("", ""))
        return Run(
            hides=self._hides(look, (own, character, style.look, around.table), style, around),
            height=_height_of(look),
            is_struck=self._toggled("struck", own, character, style.look, around.table) or bool(look.struck_twice),
            fonts=(ascii_font, other_font),
        )

    def _font(self, name: str) -> tuple[str, bool]:
        of_signs = name in self.styles.fonts_of_signs
        return (name, of_signs) if of_signs or has_signs(name) else _NO_SIGNS

    def _hides(self, look: Look, said: tuple[Look, ...], style: Style, around: Around) -> str | None:
        fills = (look.marker, look.fill, style.behind, around.behind)
        behind = next((fill for fill in fills if fill not in {None, TRANSPARENT}), WHITE)
        size = look.complex_size if look.is_complex else look.size
        high = (size or _USUAL) / 2
        line = min(around.line, math.inf if style.line is None else style.line)
        appearance = Appearance(
            shown=not look.always_hidden and not self._toggled("hidden", *said),
            background=behind,
            size=None if size is None else size / 2,
            stretch=(1.0 if look.stretch is None else look.stretch) * squeezed(look.spacing or 0.0, high),
            line=line,
        )
        if appearance.hides:
            return appearance.hides
        paints = [look.ink or AUTO, *(one for one in (look.outline, look.relief) if one is not None)]
        lowered = moved(self.page, look.raised, high, line).hides if look.raised else None
        return appearance.hides_in(paints) or lowered

    def _toggled(self, name: str, own: Look, *styles: Look) -> bool:
        """Whether a property is on that is a toggle, which styles of different kinds add up (17.7.3)."""
        said = getattr(own, name)
        if said is not None:
            return bool(said)
        return bool(getattr(self.styles.defaults, name)) or sum(bool(getattr(one, name)) for one in styles) % 2 == 1


def _height_of(look: Look) -> int:
    """Above the line (1), on it (0), below it (-1); letters moved by less than a sixth of their size are on it."""
    lift = {"superscript": 1, "subscript": -1}.get(look.lift or "")
    moved_by = look.raised or 0.0
    if lift is None and abs(moved_by) * 12 >= (look.size or _USUAL):
        lift = 1 if moved_by > 0 else -1
    return lift or 0


_REGIONS = {
    "firstRow": 0x20,
    "lastRow": 0x40,
    "firstColumn": 0x80,
    "lastColumn": 0x100,
    "noHBand": 0x200,
    "noVBand": 0x400,
}
_WHOLE = "wholeTable"


class Place(NamedTuple):
    """A cell's row and column, from 0, and how many there are."""

    row: int
    rows: int
    column: int
    columns: int


class _Region(NamedTuple):
    """The look of letters and the fill that a table style gives a region of the table."""

    look: Look = PLAIN
    fill: Colour | None = None


class TableLooks:
    """How cells of one table look, inside `around`."""

    def __init__(self, table: etree._Element, styles: WordStyles, around: Around) -> None:
        properties = table.find(W + "tblPr")
        self._styles = styles
        self._around = around.on(read_fill(properties, styles.theme))._replace(table=PLAIN, origin=Around().origin)
        self._regions, self._bands = _read_style(styles, value(properties, "tblStyle"))
        self._origin = around.origin
        self._frame = _read_place(table)
        self._counted = _read_counted(None if properties is None else properties.find(W + "tblLook"))

    def hides(self, page: Page) -> str | None:
        """How the table is hidden as a whole by its place on a page, if it is."""
        return self._frame.appearance(page, self._origin).hides if self._frame else None

    def around(self, row: etree._Element, cell: etree._Element, place: Place) -> Around:
        """The surroundings of the paragraphs of a cell."""
        around = self._around._replace(line=min(self._around.line, _height(row)))
        if self._regions:
            regions = [self._regions[name] for name in self._names(place) if name in self._regions]
            for region in regions:
                around = around.on(region.fill)._replace(table=over(region.look, around.table))
            if self._counted is None and self._regions.keys() - {_WHOLE}:
                around = around._replace(behind=UNKNOWN, table=over(Look(ink=AUTO), around.table))
        return around.on(read_fill(cell.find(W + "tcPr"), self._styles.theme))

    def _names(self, place: Place) -> Iterator[str]:
        """The regions of the table in which a cell lies, those that count more later."""
        counted = self._counted or set()
        top, bottom = "firstRow" in counted and place.row == 0, "lastRow" in counted and place.row == place.rows - 1
        left = "firstColumn" in counted and place.column == 0
        right = "lastColumn" in counted and place.column == place.columns - 1
        row, column = place.row - ("firstRow" in counted), place.column - ("firstColumn" in counted)
        yield _WHOLE
        if "noVBand" not in counted and not left and not right:
            yield f"band{column // self._bands[1] % 2 + 1}Vert"
        if "noHBand" not in counted and not top and not bottom:
            yield f"band{row // self._bands[0] % 2 + 1}Horz"
        edges = {"firstRow": top, "lastRow": bottom, "firstCol": left, "lastCol": right, "nwCell": top and left,
                 "neCell": top and right, "swCell": bottom and left, "seCell": bottom and right}  # fmt: skip
        yield from (name for name, holds in edges.items() if holds)


def is_covered(cell: etree._Element, row: int) -> bool:
    """Whether a cell is merged with the one before or above it, whose text alone is shown."""
    properties = cell.find(W + "tcPr")
    if properties is None:
        return False
    merges = [properties.find(W + "hMerge"), properties.find(W + "vMerge") if row else None]
    return any(one is not None and one.get(W + "val", "continue") == "continue" for one in merges)


def _read_place(table: etree._Element) -> Frame | None:
    """Where a table lies that floats, or is indented; its columns say how wide it is."""
    columns = [points(one, "w", 0.05) or 0.0 for one in table.iterfind(f"{W}tblGrid/{W}gridCol")]
    width = sum(columns) or None
    floating, indent = table.find(f"{W}tblPr/{W}tblpPr"), table.find(f"{W}tblPr/{W}tblInd")
    if floating is not None:
        return read_floating(floating, width)
    if indent is None or indent.get(W + "type", "dxa") != "dxa":
        return None
    return Frame(points(indent, "w", 0.05), None, width, None, x_from_page=False, y_from_page=False)


def _height(row: etree._Element) -> float:
    """The height in points to which a row is cut, infinite where it grows with its text."""
    height = row.find(f"{W}trPr/{W}trHeight")
    exact = height is not None and height.get(W + "hRule") == "exact"
    found = points(height, "val", 0.05) if height is not None and exact else None
    return Around().line if found is None else found


def _read_counted(look: etree._Element | None) -> set[str] | None:
    """The regions of the table of which the style counts, and the bands of which it does not; None where not said."""
    if look is None:
        return None
    try:
        bits = int(look.get(W + "val", "0")[:4] or "0", 16)
    except ValueError:
        bits = 0
    said = {name: look.get(W + name) for name in _REGIONS}
    return {name for name, one in said.items() if (bits & _REGIONS[name] if one is None else one not in OFF)}


def _read_style(styles: WordStyles, name: str | None) -> tuple[dict[str, _Region], tuple[int, int]]:
    """The regions of a table style by their names, and how many rows and columns its bands have."""
    regions, bands = dict[str, _Region](), (1, 1)
    for style in reversed(styles.chain(name)):
        for part in (style, *style.iterchildren(W + "tblStylePr")):
            key = _WHOLE if part is style else part.get(W + "type", "")
            own = _Region(read_look(part.find(W + "rPr"), styles.theme), read_fill(part.find(W + "tcPr"), styles.theme))
            inherited = regions.get(key, _Region())
            fill = inherited.fill if own.fill is None else own.fill
            regions[key] = _Region(over(own.look, inherited.look), None if fill == TRANSPARENT else fill)
        properties = style.find(W + "tblPr")
        bands = (
            max(1, whole_number(value(properties, "tblStyleRowBandSize"), bands[0])),
            max(1, whole_number(value(properties, "tblStyleColBandSize"), bands[1])),
        )
    return {key: region for key, region in regions.items() if region != _Region()}, bands
