"""DrawingML (ISO/IEC 29500-1, 20 and 21): text in shapes, tables and diagrams, shared by the Office formats."""

from lxml import etree

from pipeline.parse.office.bullets import Bullets
from pipeline.parse.office.charts import CX, C, write_chart
from pipeline.parse.office.package import Package, children, local_name
from pipeline.parse.office.view import View
from pipeline.parse.writer import TextWriter

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
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


def write_shapes(
    writer: TextWriter, package: Package, part: str, tree: etree._Element, view: View | None = None
) -> None:
    """The text of every shape under `tree`, an element of `part`, in its order; each shape is a block.

    In a `view` what cannot be seen counts as hidden.
    """
    for name, child in children(tree):
        kind = view.hides(name, child) if view else None
        if kind:
            _write_hidden(writer, package, part, child, kind)
        elif name in {"txBody", "txbx", "rich"}:
            _write_body(writer, child)
        elif name == "tbl":
            _write_table(writer, child)
        elif child.tag in GRAPHICS:
            write_graphic(writer, package, part, child)
        else:
            write_shapes(writer, package, part, child, view.inside(name, child) if view else None)


def _write_hidden(writer: TextWriter, package: Package, part: str, shape: etree._Element, kind: str) -> None:
    unseen = writer.unseen()
    write_shapes(unseen, package, part, shape)
    text, _ = unseen.finish()
    if not writer.hide(kind, text):
        writer.block(text)


def _write_body(writer: TextWriter, body: etree._Element) -> None:
    bullets = Bullets(body)
    writer.gap()
    for paragraph in body.iter(A + "p"):
        text = paragraph_text(paragraph)
        writer.line(bullets.label(paragraph) + text if text.strip() else "")
    writer.gap()


def write_graphic(writer: TextWriter, package: Package, part: str, reference: etree._Element) -> None:
    """The chart or diagram that an element (of GRAPHICS) in `part` refers to."""
    relation = package.relations(part).get(reference.get(R + "id") or reference.get(R + "dm") or "")
    if relation is None or relation.external or not package.has(relation.target):
        return
    root = package.xml(relation.target)
    writer.gap()
    if local_name(root.tag) == "chartSpace":
        write_chart(writer, root)
    for paragraph in root.iter(A + "p"):
        writer.line(paragraph_text(paragraph))
    writer.gap()
    for drawing in package.related(relation.target, "chartUserShapes"):
        for body in package.xml(drawing).iter("{*}txBody"):  # text alone: a chart in a chart could be itself
            _write_body(writer, body)


def is_furniture(shape: etree._Element) -> bool:
    """Whether a shape holds what the program itself repeats on each page: its number, the date, header and footer."""
    return any(local_name(e.tag) == "ph" and e.get("type") in _PLACEHOLDERS for e in shape.iter(etree.Element))


def _write_table(writer: TextWriter, table: etree._Element) -> None:
    writer.gap()
    for row in table.iter(A + "tr"):
        writer.row("\n".join(map(paragraph_text, cell.iter(A + "p"))) for cell in row.iterchildren(A + "tc"))
    writer.gap()
