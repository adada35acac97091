"""DrawingML (ISO/IEC 29500-1, 20 and 21): text in shapes, tables, charts and diagrams, shared by the Office formats."""

from collections.abc import Iterator

from lxml import etree

from pipeline.parse.office.package import Package, children, local_name, whole_number
from pipeline.parse.writer import TextWriter

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
CX = "{http://schemas.microsoft.com/office/drawing/2014/chartex}"
DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
GRAPHICS = {C + "chart", CX + "chart", DGM + "relIds"}  # what stands for a chart or a diagram in a part of its own
_PLACEHOLDERS = {"sldNum", "hdr", "dt", "ftr", "sldImg"}
_BETWEEN = {"f": "/", "sSup": "^", "sSub": "_"}  # of the parts of a formula


def math_text(element: etree._Element) -> str:
    """A formula (Office math) in one line: a fraction as a/b, x^2, x_1."""
    pieces = []
    for name, child in children(element):
        if name == "t":
            pieces.append(child.text or "")
        elif name in _BETWEEN:
            parts = [math_text(part) for kind, part in children(child) if not kind.endswith("Pr")]
            pieces.append(_BETWEEN[name].join(parts))
        else:
            pieces.append(math_text(child))
    return "".join(pieces)


def paragraph_text(paragraph: etree._Element) -> str:
    """The text of an a:p."""
    pieces = []
    for name, child in children(paragraph):
        if name in {"r", "fld"}:
            pieces.append("".join(text.text or "" for text in child.iter(A + "t")))
        elif name == "br":
            pieces.append("\n")
        elif name == "m":
            pieces.append(math_text(child))
    return "".join(pieces)


def write_shapes(writer: TextWriter, package: Package, part: str, tree: etree._Element) -> None:
    """The text of every shape under `tree`, an element of `part`, in its order; each shape is a block."""
    for name, child in children(tree):
        if name in {"txBody", "txbx", "rich"}:
            writer.gap()
            for paragraph in child.iter(A + "p"):
                writer.line(paragraph_text(paragraph))
            writer.gap()
        elif name == "tbl":
            _write_table(writer, child)
        elif child.tag in GRAPHICS:
            write_graphic(writer, package, part, child)
        else:
            write_shapes(writer, package, part, child)


def write_graphic(writer: TextWriter, package: Package, part: str, reference: etree._Element) -> None:
    """The chart or diagram that an element (of GRAPHICS) in `part` refers to."""
    relation = package.relations(part).get(reference.get(R + "id") or reference.get(R + "dm") or "")
    if relation is None or relation.external or not package.has(relation.target):
        return
    root = package.xml(relation.target)
    writer.gap()
    if local_name(root.tag) == "chartSpace":
        _write_chart(writer, root)
        for level in root.iter(CX + "lvl"):
            writer.row(point.text or "" for point in level.iter(CX + "pt"))
    for paragraph in root.iter(A + "p"):
        writer.line(paragraph_text(paragraph))
    writer.gap()
    for drawing in package.related(relation.target, "chartUserShapes"):
        write_shapes(writer, package, drawing, package.xml(drawing))


def is_furniture(shape: etree._Element) -> bool:
    """Whether a shape holds what the program itself repeats on each page: its number, the date, header and footer."""
    return any(local_name(e.tag) == "ph" and e.get("type") in _PLACEHOLDERS for e in shape.iter(etree.Element))


def _write_table(writer: TextWriter, table: etree._Element) -> None:
    writer.gap()
    for row in table.iter(A + "tr"):
        writer.row("\n".join(map(paragraph_text, cell.iter(A + "p"))) for cell in row.iterchildren(A + "tc"))
    writer.gap()


def _write_chart(writer: TextWriter, root: etree._Element) -> None:
    """The data that a chart shows, as a table: categories down, series across."""
    series = [
        (_values(one, "tx"), _values(one, "cat", "xVal"), _values(one, "val", "yVal")) for one in root.iter(C + "ser")
    ]
    if not series:
        return
    categories = max((categories for _, categories, _ in series), key=len)
    writer.row(["", *(" ".join(name.values()) for name, _, _ in series)])
    for place in sorted({*categories, *(place for _, _, values in series for place in values)}):
        writer.row([categories.get(place, ""), *(values.get(place, "") for _, _, values in series)])


def _values(series: etree._Element, *names: str) -> dict[int, str]:
    found: dict[int, str] = {}
    for name in names:
        for holder in series.iterchildren(C + name):
            found |= dict(_points(holder))
    return found


def _points(holder: etree._Element) -> Iterator[tuple[int, str]]:
    for level in holder.iter(C + "lvl"):  # categories of several levels: the innermost comes first
        yield from _points_of(level)
        return
    points = list(_points_of(holder))
    yield from points or [(0, value.text or "") for value in holder.iterchildren(C + "v")]


def _points_of(holder: etree._Element) -> Iterator[tuple[int, str]]:
    for point in holder.iter(C + "pt"):
        yield whole_number(point.get("idx"), 0), "".join(value.text or "" for value in point.iterchildren(C + "v"))
