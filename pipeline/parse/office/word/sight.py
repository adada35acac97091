"""The text of a Word document that a person sees, by the one rule of sight/look.py.

ISO/IEC 29500-1, 17.3.2: a property holds as the run says it, else its character style, the paragraph's style, the
style of the table, the defaults. Where what is behind a text is not known (a picture behind it), it is doubtful.
A table style (17.4 and 17.7.6) has a look for the whole table and others for its first and last rows and columns, its
bands and corners, of which the table (w:tblLook) says which count.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

from pipeline.parse.markup.reading import local_name, whole_number
from pipeline.parse.office.drawing.theme import UNKNOWN
from pipeline.parse.office.word.boxes import Boxes
from pipeline.parse.office.word.controls import Controls
from pipeline.parse.office.word.looks import (
    AUTO,
    OFF,
    PLAIN,
    RunProperties,
    W,
    child,
    over,
    points,
    read_fill,
    read_look,
    value,
)
from pipeline.parse.office.word.sections import Page, Sections, shows_frame
from pipeline.parse.office.word.styles import Style, WordStyles
from pipeline.parse.sight.colours import TRANSPARENT, WHITE, Colour, Paint
from pipeline.parse.sight.look import Appearance, squeezed
from pipeline.parse.sight.raised import lifted
from pipeline.parse.sight.symbols import has_signs, shown_in

_REMEMBERED = 10_000
_THIN = 4.0  # points: what is narrower has no room for letters
_NARROW = 72.0  # points: how far text may lie beyond a margin, and what it needs between two of them
_USUAL = 20  # half points, where no style says a size


class Around(NamedTuple):
    """The surroundings of a paragraph: the colour behind it, the height that cuts its lines, its table's look.

    `doubt` is what touches its text whose effect is not computed.
    """

    behind: Colour = WHITE
    line: float = math.inf
    table: RunProperties = PLAIN
    doubt: str = ""

    def on(self, fill: Colour | None) -> "Around":
        """These surroundings with a fill behind the paragraph, if there is one."""
        return self if fill in {None, TRANSPARENT} else self._replace(behind=fill)


_NO_SIGNS = ("", False)


class Run(NamedTuple):
    """How the text of a run is drawn: how it is hidden, if it is; above the line (1) or below it (-1), struck out.

    `doubts` is what touches it, "" for nothing that is not computed. `fonts` are that of ASCII and that of other
    letters, each with whether the document says that it has signs alone.
    """

    hides: str | None = None
    doubts: str = ""
    height: int = 0
    is_struck: bool = False
    fonts: tuple[tuple[str, bool], tuple[str, bool]] = (_NO_SIGNS, _NO_SIGNS)

    def text(self, text: str) -> str:
        """What is shown of a text (w:t), with the marks of runs that are raised, lowered or struck out."""
        if text.isascii() and self.fonts[0] is _NO_SIGNS:
            return self.marked(text)
        pieces = [text] if self.fonts[0] == self.fonts[1] or text.isascii() else list(text)
        fonts = (self.fonts[not piece.isascii()] for piece in pieces)
        shown = (shown_in(name, piece, of_signs=signs) for piece, (name, signs) in zip(pieces, fonts, strict=True))
        return self.marked("".join(shown))

    def marked(self, text: str) -> str:
        """The text with the marks of runs that are raised, lowered or struck out."""
        return lifted(text, self.height, self.is_struck)


class Sight:
    """How the text of a document looks."""

    def __init__(self, styles: WordStyles, sections: Sections, controls: Controls) -> None:
        self.styles = styles
        self.controls = controls
        self.boxes = Boxes(styles.theme, sections.page, alone=sections.floats <= 1)
        self.first = Around(sections.behind)
        self.page = sections.page
        self._known: dict[tuple[RunProperties, str | None, Style, Around], Run] = {}

    def run(self, run: etree._Element, style: Style, around: Around) -> Run:
        """How a run (w:r) in a paragraph of a style is drawn."""
        properties = run.find(W + "rPr")
        seen = (read_look(properties, self.styles.theme), value(properties, "rStyle"), style, around)
        if seen not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[seen] = self._judge(*seen)
        return self._known[seen]

    def _judge(self, own: RunProperties, named: str | None, style: Style, around: Around) -> Run:
        character = self.styles.style(named).look if named else PLAIN
        look = over(over(own, over(character, style.look)), over(around.table, self.styles.defaults))
        said = (own, character, style.look, around.table)
        fonts = []
        for name in look.fonts or ("", ""):
            of_signs = name in self.styles.fonts_of_signs
            fonts.append((name, of_signs) if of_signs or has_signs(name) else _NO_SIGNS)
        height, moved_by = {"superscript": 1, "subscript": -1}.get(look.lift or "", 0), look.raised or 0.0
        if not height and abs(moved_by) * 12 >= (look.size or _USUAL):  # by less than a sixth it is on the line
            height = 1 if moved_by > 0 else -1
        appearance = self._appearance(look, style, around, hidden=self._toggled("hidden", *said))
        is_struck = self._toggled("struck", *said) or bool(look.struck_twice)
        return Run(appearance.hides, appearance.doubts, height, is_struck, (fonts[0], fonts[1]))

    def _appearance(self, look: RunProperties, style: Style, around: Around, *, hidden: bool) -> Appearance:
        fills = (look.marker, look.fill, style.behind, around.behind)
        behind = next((fill for fill in fills if fill not in {None, TRANSPARENT}), WHITE)
        size = ((look.complex_size if look.is_complex else look.size) or _USUAL) / 2
        ink = Paint() if look.doubt else look.ink or AUTO  # an outline or a shadow may be seen where letters are not
        doubt = look.doubt or around.doubt or self._doubt_of_place(style, look, size)
        if ink.colour is None or (behind == UNKNOWN and ink.colour != AUTO.colour):
            doubt = doubt or "its colour, or the one behind it"
        return Appearance(
            shown=not look.always_hidden and not hidden,
            colour=ink.colour,
            background=behind,
            opacity=ink.opacity,
            size=size,
            stretch=(1.0 if look.stretch is None else look.stretch) * squeezed(look.spacing or 0.0, size),
            line=min(around.line, math.inf if style.line is None else style.line),
            doubt=doubt,
        )

    def _doubt_of_place(self, style: Style, look: RunProperties, size: float) -> str:
        """What moves text so that it may not be on the page: of its paragraph, or how far its letters are raised."""
        if style.doubt:
            return style.doubt
        if style.frame is not None and not shows_frame(style.frame, self.page):
            return "a frame"
        start, first = style.left or 0.0, style.first or 0.0
        room = self.page.width - _NARROW
        indented = (start, start + first, style.right or 0.0, start + (style.right or 0.0) + _NARROW)
        if not all(-_NARROW <= one <= room for one in indented):
            return "indents"
        return "raised letters" if abs(look.raised or 0.0) > max(size, _NARROW / 4) else ""

    def _toggled(self, name: str, own: RunProperties, *styles: RunProperties) -> bool:
        """Whether a property is on that is a toggle, which styles of different kinds add up (17.7.3)."""
        said = getattr(own, name)
        if said is not None:
            return bool(said)
        return bool(getattr(self.styles.defaults, name)) or sum(bool(getattr(one, name)) for one in styles) % 2 == 1


_REGIONS = {"firstRow": 0x20, "lastRow": 0x40, "firstColumn": 0x80, "lastColumn": 0x100, "noHBand": 0x200,
            "noVBand": 0x400}  # fmt: skip
_WHOLE = "wholeTable"


class _Region(NamedTuple):
    """The look of letters and the fill that a table style gives a region of the table."""

    look: RunProperties = PLAIN
    fill: Colour | None = None


class TableLooks:
    """How cells of one table look, inside `around`."""

    def __init__(self, table: etree._Element, styles: WordStyles, around: Around, page: Page) -> None:
        properties = table.find(W + "tblPr")
        self._styles = styles
        doubt = around.doubt or _doubt_of(table, page)
        self._around = around.on(read_fill(properties, styles.theme))._replace(table=PLAIN, doubt=doubt)
        self._regions, self._bands = _read_style(styles, value(properties, "tblStyle"))
        self._counted: set[str] | None = None  # the regions of which the style counts, the bands of which it does not
        look = child(properties, "tblLook")
        if look is not None:
            try:
                bits = int(look.get(W + "val", "0")[:4] or "0", 16)
            except ValueError:
                bits = 0
            said = {name: look.get(W + name) for name in _REGIONS}
            self._counted = {
                name for name, one in said.items() if (bits & _REGIONS[name] if one is None else one not in OFF)
            }

    def around(
        self, row: etree._Element, cell: etree._Element, row_of: tuple[int, int], column_of: tuple[int, int]
    ) -> Around:
        """The surroundings of the paragraphs of a cell; its row and its column, from 0, and how many there are."""
        doubt = self._around.doubt or _odd(row.find(W + "trPr")) or _odd(cell.find(W + "tcPr"))
        height = child(row, "trPr", "trHeight")
        exact = height is not None and height.get(W + "hRule") == "exact"
        cut = points(height, "val") if height is not None and exact else None  # else it grows with its text
        around = self._around._replace(line=min(self._around.line, math.inf if cut is None else cut), doubt=doubt)
        for name in self._names(row_of, column_of) if self._regions else ():
            region = self._regions.get(name, _Region())
            around = around.on(region.fill)._replace(table=over(region.look, around.table))
        if self._counted is None and self._regions.keys() - {_WHOLE}:
            around = around._replace(behind=UNKNOWN, table=over(RunProperties(ink=AUTO), around.table))
        return around.on(read_fill(cell.find(W + "tcPr"), self._styles.theme))

    def _names(self, row_of: tuple[int, int], column_of: tuple[int, int]) -> Iterator[str]:
        """The regions of the table in which a cell lies, those that count more later."""
        counted, (row, rows), (column, columns) = self._counted or set(), row_of, column_of
        top, bottom = "firstRow" in counted and row == 0, "lastRow" in counted and row == rows - 1
        left, right = "firstColumn" in counted and column == 0, "lastColumn" in counted and column == columns - 1
        row, column = row - ("firstRow" in counted), column - ("firstColumn" in counted)
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
    merges = [child(cell, "tcPr", "hMerge"), child(cell, "tcPr", "vMerge") if row else None]
    return any(one is not None and one.get(W + "val", "continue") == "continue" for one in merges)


_NAMES = (
    "tblStyle tblpPr tblOverlap bidiVisual tblStyleRowBandSize tblStyleColBandSize tblW jc tblCellSpacing tblInd "
    "tblBorders shd tblLayout tblCellMar tblLook tblCaption tblDescription tblPrChange cnfStyle divId gridBefore "
    "gridAfter wBefore wAfter cantSplit trHeight tblHeader hidden ins del trPrChange tcW gridSpan hMerge vMerge "
    "tcBorders noWrap tcMar textDirection vAlign hideMark cellIns cellDel cellMerge tcPrChange"
)
_HARMLESS = frozenset(_NAMES.split())
"""Properties of tables, rows and cells whose effect is computed, or that keep nobody from seeing a text."""
_WIDTHS = {"tblW", "tcW", "tblCellMar", "tcMar", "tblCellSpacing"}


def _odd(properties: etree._Element | None) -> str:
    """The first property of a table, a row or a cell whose effect is not computed; "" for none."""
    for one in () if properties is None else properties:
        name = local_name(str(one.tag))
        if name not in _HARMLESS or (name in _WIDTHS and any(map(_is_odd, one.iter()))):
            return name
    return ""


def _is_odd(width: etree._Element) -> bool:
    """Whether a width, a margin or a distance leaves no room for letters."""
    found = points(width, "w") if width.get(W + "type", "dxa") == "dxa" else None
    if found is None or local_name(str(width.tag)) in {"tblW", "tcW"}:
        return found is not None and 0 < found < _THIN
    return not 0 <= found <= _NARROW


def _doubt_of(table: etree._Element, page: Page) -> str:
    """What of a table's properties, its place or its columns may keep its text from being seen; "" for nothing."""
    properties = table.find(W + "tblPr")
    floating, indent = child(properties, "tblpPr"), child(properties, "tblInd")
    if floating is not None and not shows_frame(floating, page):
        return "a floating table"
    start = None if indent is None or indent.get(W + "type", "dxa") != "dxa" else points(indent, "w")
    if start is not None and not -_NARROW <= start <= page.width / 2:
        return "tblInd"
    columns = [points(one, "w") for one in table.iterfind(f"{W}tblGrid/{W}gridCol")]
    return _odd(properties) or ("gridCol" if any(one is not None and 0 < one < _THIN for one in columns) else "")


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
