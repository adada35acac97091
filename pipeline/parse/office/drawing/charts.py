"""Charts (ISO/IEC 29500-1, 21.2, and those of 2016): what they show, as a table."""

from collections.abc import Iterator

from lxml import etree

from pipeline.parse.markup.reading import local_name, whole_number
from pipeline.parse.office.cells import number_kind, number_text
from pipeline.parse.writer import TextWriter

C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
CX = "{http://schemas.microsoft.com/office/drawing/2014/chartex}"


def write_chart(writer: TextWriter, root: etree._Element) -> None:
    """Write a chart's data with categories down and series across, then its titles and labels taken from cells."""
    _write_series(writer, root)
    for title in root.iter(C + "title"):
        writer.line(" ".join(value.text or "" for value in title.iter(C + "v")))
    for labels in root.iter("{*}dlblRangeCache"):
        writer.row(_points_of(labels, "").values())
    for level in root.iter(CX + "lvl"):
        writer.row(point.text or "" for point in level.iter(CX + "pt"))


def _write_series(writer: TextWriter, root: etree._Element) -> None:
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
            found |= _points(holder)
    return found


def _points(holder: etree._Element) -> dict[int, str]:
    for level in holder.iter(C + "lvl"):  # categories of several levels: the innermost comes first
        return _points_of(level, "")
    found: dict[int, str] = {}
    for cache in holder.iter(C + "numCache", C + "numLit", C + "strCache", C + "strLit"):
        numbers = local_name(cache.tag).startswith("num")
        found |= _points_of(cache, str(cache.findtext(C + "formatCode", "General")) if numbers else "")
    return found or dict(enumerate(value.text or "" for value in holder.iterchildren(C + "v")))


def _points_of(holder: etree._Element, code: str) -> dict[int, str]:
    """The points by number; with a number format they are numbers."""
    kind = number_kind(code)
    points = {whole_number(point.get("idx"), 0): "".join(_texts(point)) for point in holder.iter(C + "pt")}
    return {place: number_text(text, kind, 0) if code else text for place, text in points.items()}


def _texts(point: etree._Element) -> Iterator[str]:
    yield from (value.text or "" for value in point.iterchildren(C + "v"))
