"""Charts and text boxes on a sheet, which keep what they showed last of cells, while programs show the cells; the cells
that they lie over; and what is printed above and below the pages of a sheet.
"""

import math
import re
from collections.abc import Iterator

from lxml import etree

from pipeline.parse.markup.reading import decimal, whole_number
from pipeline.parse.office.cells import number_text, reads_as, reads_as_moment
from pipeline.parse.office.drawing.theme import rgb
from pipeline.parse.office.package import Package
from pipeline.parse.office.sheets.conditions import Area
from pipeline.parse.office.sheets.results import Results
from pipeline.parse.office.sheets.values import Value
from pipeline.parse.sight.colours import BLACK, WHITE, Colour
from pipeline.parse.sight.look import Appearance
from pipeline.parse.writer import TextWriter

_XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_USUAL = (609_600, 190_500)  # English Metric Units: the width and height of a cell
_PART = 60_000  # ... what a drawing may lie over a cell without a doubt
_CODES = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|\d+|[BEHISUXY])')  # fonts, colours...
_FILLED_IN = re.compile(r"(?<!&)(?:&&)*&[ADFGNPTZ]")
_OF_THEME = {"K00+000": WHITE, "K01+000": BLACK}  # of the colours of a theme, with a tint, those that are known


def check_drawn(results: Results, package: Package, part: str, drawing: etree._Element, sheet: str) -> None:
    """Hold the charts and text boxes of a drawing against the cells; raises DocumentError."""
    for chart in [*package.related(part, "chart"), *package.related(part, "chartEx")]:
        for address in package.xml(chart).iter("{*}f"):
            _check_kept(results, address, sheet)
    for shape in drawing.iter(_XDR + "sp"):
        if address := shape.get("textlink", ""):
            text, cells = "".join(one.text or "" for one in shape.iter(_A + "t")), results.cells(address, sheet)
            if cells is None or len(cells) != 1 or not _shows(text, cells[0]):
                results.differ(f"text box {text!r} of {address}")


def drawn_over(drawing: etree._Element) -> Iterator[Area]:
    """The areas of cells over which a picture, a chart or a filled shape of a drawing lies."""
    for anchor in drawing:
        shapes = list(anchor.iter(*(_XDR + name for name in ("sp", "pic", "graphicFrame", "contentPart"))))
        if all(one.tag == _XDR + "sp" and one.find(f"{_XDR}spPr/{_A}noFill") is not None for one in shapes):
            continue
        start, end = anchor.find(_XDR + "from"), anchor.find(_XDR + "to")
        left, top = _cell(start, "col", False), _cell(start, "row", False)
        right, bottom = _cell(end, "col", True), _cell(end, "row", True)
        if end is None:  # of a place without an end, cells have their usual size
            size = anchor.find(_XDR + "ext")
            width, height = (0 if size is None else whole_number(size.get(side), 0) for side in ("cx", "cy"))
            right, bottom = left + width // _USUAL[0], top + height // _USUAL[1]
        if left <= right and top <= bottom:
            yield top, left, bottom, right


def _cell(place: etree._Element | None, way: str, is_end: bool) -> int:
    """The row or column, from 1, at which a drawing begins or ends that covers at least a part of a line of it."""
    if place is None:
        return 1
    offset = whole_number(place.findtext(f"{_XDR}{way}Off"), 0)
    whole = whole_number(place.findtext(_XDR + way), 0) + 1
    return whole - 1 if is_end and offset < _PART else whole


def _check_kept(results: Results, address: etree._Element, sheet: str) -> None:
    """Hold the points that a chart keeps beside an address against the cells; hidden cells may have none."""
    holder, text = address.getparent(), address.text or ""
    points = [] if holder is None else list(holder.iter("{*}pt"))
    cells = results.cells(text, sheet) if points else None
    if cells is None:
        return
    in_order = len({point.get("idx") for point in points}) == len(points) == len(cells)
    for point in points:
        place, shown = whole_number(point.get("idx"), len(cells)), point.findtext("{*}v", point.text or "")
        if not any(_is(shown, cell) for cell in (cells[place : place + 1] if in_order else cells)):
            results.differ(f"chart {shown!r} of {text}")
            return


def _is(text: str, value: Value) -> bool:
    """Whether a point of a chart has the value of a cell."""
    number = decimal(text)
    if isinstance(value, float) and number is not None:
        return math.isclose(number, value, rel_tol=1e-9, abs_tol=1e-9)
    return _shows(text, value)


def _shows(text: str, value: Value) -> bool:
    """Whether a text is what a cell shows, whatever its number format is."""
    if isinstance(value, float):
        moment = number_text(repr(value), "moment", 0)
        is_moment = any(map(str.isdecimal, text)) and reads_as_moment(text, moment)
        return text == number_text(repr(value), "", 0) or reads_as(text, value) or is_moment
    if isinstance(value, bool):
        value = str(value).upper()
    return text.split() == (value or "").split()


def printed_texts(writer: TextWriter, code: str) -> Iterator[str]:
    """The left, middle and right of a header, without what Excel fills in, such as the number of the page."""
    for piece in re.split("&[LCR]", code):
        if not _FILLED_IN.search(piece):
            yield " ".join("".join(_seen_runs(writer, piece)).replace("&&", "&").split())


def _seen_runs(writer: TextWriter, piece: str) -> Iterator[str]:
    """The texts between codes for fonts and colours, as far as they can be seen on white paper."""
    colour: Colour | None = None
    size: float | None = None
    doubt, place = "", 0
    for code in [*_CODES.finditer(piece), None]:
        text = piece[place : code.start() if code else None]
        look = Appearance(colour=colour, background=WHITE, size=size, doubt=doubt)
        if look.doubts and not look.hides:
            writer.doubtful(look.doubts, text)
        yield " " if look.hides and text.strip() and writer.hide(look.hides, text) else text + " "
        if code:
            said, place = code.group()[1:], code.end()
            size = float(said) if said.isdecimal() else size
            if said.startswith("K"):
                colour = rgb(said[1:]) or _OF_THEME.get(said)
                doubt = "" if colour else "a colour of the theme"
