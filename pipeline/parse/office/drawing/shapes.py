"""DrawingML (ISO/IEC 29500-1, 20 and 21): text in shapes, tables and diagrams, shared by the Office formats.

Charts (21.2, and those of 2016) become a table of what they show.
"""

from collections.abc import Iterator
from functools import partial

from lxml import etree

from pipeline.parse.markup.formula import formula_text
from pipeline.parse.markup.reading import local_name, whole_number
from pipeline.parse.office.cells import number_kind, number_text
from pipeline.parse.office.drawing.scene import Scene
from pipeline.parse.office.drawing.view import TRUE
from pipeline.parse.office.numerals import Bullets
from pipeline.parse.office.package import Package, children
from pipeline.parse.sight.raised import lowered, raised, struck
from pipeline.parse.sight.symbols import shown_in
from pipeline.parse.writer import TextWriter

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
CX = "{http://schemas.microsoft.com/office/drawing/2014/chartex}"
DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
GRAPHICS = {C + "chart", CX + "chart", DGM + "relIds"}  # what stands for a chart or a diagram in a part of its own
_NAMED = 5  # words that a reason names
_PLACEHOLDERS = {"sldNum", "hdr", "dt", "ftr", "sldImg"}


def write_chart(writer: TextWriter, root: etree._Element) -> None:
    """Write a chart's data with categories down and series across, then its titles and labels taken from cells."""
    series = [
        (_values(one, "tx"), _values(one, "cat", "xVal"), _values(one, "val", "yVal")) for one in root.iter(C + "ser")
    ]
    if series:
        categories = max((categories for _, categories, _ in series), key=len)
        writer.row(["", *(" ".join(name.values()) for name, _, _ in series)])
        for place in sorted({*categories, *(place for _, _, values in series for place in values)}):
            writer.row([categories.get(place, ""), *(values.get(place, "") for _, _, values in series)])
    for title in root.iter(C + "title"):
        writer.line(" ".join(value.text or "" for value in title.iter(C + "v")))
    for labels in root.iter("{*}dlblRangeCache"):
        writer.row(_points(labels, "").values())
    for level in root.iter(CX + "lvl"):
        writer.row(point.text or "" for point in level.iter(CX + "pt"))


def _values(series: etree._Element, *names: str) -> dict[int, str]:
    """The values of a part of a series by number, of categories of several levels the innermost, which comes first."""
    found: dict[int, str] = {}
    for holder in (holder for name in names for holder in series.iterchildren(C + name)):
        level = next(holder.iter(C + "lvl"), None)
        points = {} if level is None else _points(level, "")
        for cache in holder.iter(C + "numCache", C + "numLit", C + "strCache", C + "strLit") if level is None else ():
            numbers = local_name(cache.tag).startswith("num")
            points |= _points(cache, str(cache.findtext(C + "formatCode", "General")) if numbers else "")
        if level is None and not points:
            points = dict(enumerate(value.text or "" for value in holder.iterchildren(C + "v")))
        found |= points
    return found


def _points(holder: etree._Element, code: str) -> dict[int, str]:
    """The points by number; with a number format they are numbers."""
    kind = number_kind(code)
    points = {
        whole_number(point.get("idx"), 0): "".join(value.text or "" for value in point.iterchildren(C + "v"))
        for point in holder.iter(C + "pt")
    }
    return {place: number_text(text, kind, 0) if code else text for place, text in points.items()}


def paragraph_text(paragraph: etree._Element) -> str:
    """The text of an a:p."""
    return "".join(text for text, _ in _pieces(paragraph))


def write_shapes(
    writer: TextWriter, package: Package, part: str, tree: etree._Element, scene: Scene | None = None
) -> None:
    """The text of every shape under `tree`, an element of `part`, in its order; each shape is a block.

    In a `scene` what cannot be seen counts as hidden.
    """
    for name, child in children(tree):
        kind = scene.hides(child) if scene else None
        if kind:
            writer.hidden(kind, partial(write_shapes, package=package, part=part, tree=child))
        elif name in {"txBody", "txbx", "rich"}:
            _write_body(writer, child, scene)
        elif name == "tbl":
            _write_table(writer, child, scene)
        elif child.tag in GRAPHICS:
            write_graphic(writer, package, part, child)
        elif child.tag == A + "blip":
            writer.block(package.picture_text(part, relation_of(child)))
        else:
            write_shapes(writer, package, part, child, scene)


def relation_of(picture: etree._Element) -> str:
    """The relation by which a picture is named (a:blip, v:imagedata); "" where there is none."""
    return str(picture.get(R + "embed") or picture.get(R + "id") or "")


def _write_body(writer: TextWriter, body: etree._Element, scene: Scene | None = None) -> None:
    bullets = Bullets(body)
    writer.gap()
    for paragraph in body.iter(A + "p"):
        text = _shown(writer, paragraph, scene)
        writer.line(bullets.label(paragraph) + text if text.strip() else "")
    writer.gap()


def _shown(writer: TextWriter, paragraph: etree._Element, scene: Scene | None) -> str:
    """The text of a paragraph, by the job's rule without the runs that nobody sees, whose place stays empty."""
    shown = []
    for text, run in _pieces(paragraph):
        if scene is None or run is None or not text.strip():
            shown.append(text)
            continue
        look = scene.look(paragraph, run)
        if look.hides is None and look.doubts:
            writer.doubtful(look.doubts, text)
        shown.append(" " if look.hides and writer.hide(look.hides, text) else text)
    return "".join(shown)


def _pieces(paragraph: etree._Element) -> Iterator[tuple[str, etree._Element | None]]:
    """The pieces of text of an a:p, each with the run that says how it looks."""
    for name, child in children(paragraph):
        if name in {"r", "fld"}:
            yield _drawn(child), child
        elif name == "br":
            yield "\n", None
        elif name == "m":
            yield formula_text(child), None


def _drawn(run: etree._Element) -> str:
    """The text of a run (a:r, a:fld) as its fonts show it, with the marks of what is raised, lowered or struck out."""
    text = "".join(text.text or "" for text in run.iter(A + "t"))
    properties = run.find(A + "rPr")
    latin, signs = (None if properties is None else properties.find(A + name) for name in ("latin", "sym"))
    fonts = {one: ("" if one is None else one.get("typeface", ""), one is not None and one.get("charset") == "2")
             for one in (latin, signs)}  # fmt: skip
    # A font for signs is that of the places of symbol fonts alone.
    pieces = text if signs is not None and not text.isascii() else [text]
    drawn = []
    for piece in pieces:
        is_sign = signs is not None and len(piece) == 1 and "\uf020" <= piece <= "\uf0ff"
        font, of_signs = fonts[signs if is_sign else latin]
        drawn.append(shown_in(font, piece, of_signs=of_signs))
    text = "".join(drawn)
    if properties is None:
        return text
    moved = properties.get("baseline", "0").removesuffix("%")
    text = lowered(text) if moved.startswith("-") else raised(text) if moved.strip("0.") else text
    return struck(text) if properties.get("strike", "noStrike") != "noStrike" else text


def write_graphic(writer: TextWriter, package: Package, part: str, reference: etree._Element) -> None:
    """The chart or diagram that an element (of GRAPHICS) in `part` refers to."""
    found = _related(package, part, reference.get(R + "id") or reference.get(R + "dm") or "")
    if found is None:
        return
    target, root = found
    writer.gap()
    if local_name(root.tag) == "chartSpace":
        write_chart(writer, root)
    # the drawing that programs show for the data of a diagram ([MS-ODRAWXML] 2.7)
    for extension in root.iter("{http://schemas.microsoft.com/office/drawing/2008/diagram}dataModelExt"):
        drawing = _related(package, part, extension.get("relId", ""))
        if drawing and (unknown := _words_of(drawing[1]) - _words_of(root)):
            said = ", ".join(sorted(unknown)[:_NAMED])
            writer.review(f"a diagram is drawn with words that its data do not have: {said}")
    for paragraph in root.iter(A + "p"):
        writer.line(paragraph_text(paragraph))
    writer.gap()
    for user_shapes in package.related(target, "chartUserShapes"):
        for body in package.xml(user_shapes).iter("{*}txBody"):  # text alone: a chart in a chart could be itself
            _write_body(writer, body)


def _related(package: Package, part: str, identity: str) -> tuple[str, etree._Element] | None:
    """The part inside the package to which a relation of a part leads: its name and its root."""
    relation = package.relations(part).get(identity)
    if relation is None or relation.external or not package.has(relation.target):
        return None
    return relation.target, package.xml(relation.target)


def _words_of(root: etree._Element) -> set[str]:
    return {word for paragraph in root.iter(A + "p") for word in paragraph_text(paragraph).split()}


def is_furniture(shape: etree._Element) -> bool:
    """Whether a shape holds what the program itself repeats on each page: its number, the date, header and footer."""
    return any(local_name(e.tag) == "ph" and e.get("type") in _PLACEHOLDERS for e in shape.iter(etree.Element))


def _write_table(writer: TextWriter, table: etree._Element, scene: Scene | None) -> None:
    """Write a table; the text of a cell with which another one was merged is not drawn."""
    writer.gap()
    for row in table.iter(A + "tr"):
        cells = []
        for cell in row.iterchildren(A + "tc"):
            paragraphs = cell.iter(A + "p")
            if any(cell.get(merged) in TRUE for merged in ("hMerge", "vMerge")):
                text = "\n".join(map(paragraph_text, paragraphs))
                cells.append("" if writer.hide("covered", text) else text)
            else:
                cells.append("\n".join(_shown(writer, paragraph, scene) for paragraph in paragraphs))
        writer.row(cells)
    writer.gap()
