"""PowerPoint presentations (PresentationML, ISO/IEC 29500-1, 19): slides in order, each with its notes and comments."""

from lxml import etree

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.formats.base import Source, finish
from pipeline.parse.office.drawing import A, R, is_furniture, paragraph_text, write_shapes
from pipeline.parse.office.package import LXML, Package, local_name
from pipeline.parse.writer import TextWriter

PARSER = f"pptx/1 {LXML}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_SHAPES = {P + "sp", P + "graphicFrame"}


def parse(source: Source, media_type: str) -> Parsed:
    """The presentation; a slide is a page. Raises DocumentError."""
    package, writer = Package(source.data), source.writer()
    relations, layouts = package.relations(package.main), dict[str, None]()
    authors = _authors(package)
    for slide in package.xml(package.main).iterfind(f"{P}sldIdLst/{P}sldId"):
        writer.page()
        relation = relations.get(slide.get(R + "id", ""))
        if relation is None or not package.has(relation.target):
            raise DocumentError(Failure.CORRUPT, "one of its slides is missing")
        _write_slide(writer, package, relation.target, authors)
        layouts |= dict.fromkeys(package.related(relation.target, "slideLayout"))
    if not writer.length and package.count("media"):
        raise DocumentError(Failure.NEEDS_OCR, "its slides hold pictures and no text")
    return finish(source, writer, media_type, PARSER, notes=[*_layout_notes(package, list(layouts)), *package.notes()])


def _authors(package: Package) -> dict[str, str]:
    """Who comments, by number (before 2018) or GUID."""
    parts = package.related(package.main, "commentAuthors") + package.related(package.main, "authors")
    authors = [author for part in parts for author in package.xml(part).iter("{*}cmAuthor", "{*}author")]
    return {author.get("id", ""): author.get("name", "") for author in authors}


def _write_slide(writer: TextWriter, package: Package, slide: str, authors: dict[str, str]) -> None:
    write_shapes(writer, package, slide, package.xml(slide))
    for part in package.related(slide, "notesSlide"):
        shapes = [shape for shape in package.xml(part).iter(P + "sp") if not is_furniture(shape)]
        _write_paragraphs(writer, "Notes: ", shapes)
    for part in package.related(slide, "comments"):
        for comment in package.xml(part).iter("{*}cm", "{*}reply"):
            author = authors.get(comment.get("authorId", ""), "")
            label = f"Comment ({author}): " if author else "Comment: "
            for text in comment.iterchildren("{*}text"):
                writer.block(label + (text.text or ""))
            _write_paragraphs(writer, label, list(comment.iterchildren("{*}txBody")))


def _write_paragraphs(writer: TextWriter, label: str, elements: list[etree._Element]) -> None:
    lines = [paragraph_text(p) for element in elements for p in element.iter(A + "p")]
    text = "\n".join(line for line in lines if line.strip())
    if text:
        writer.block(label + text)


def _layout_notes(package: Package, layouts: list[str]) -> list[str]:
    """Text that stands on the layout or master behind the slides; it belongs to no one slide, so it is only noted."""
    behind = dict.fromkeys(layouts) | dict.fromkeys(m for part in layouts for m in package.related(part, "slideMaster"))
    texts = dict[str, None]()
    for part in behind:
        for shape in package.xml(part).iter(*_SHAPES):
            if not any(local_name(e.tag) == "ph" for e in shape.iter(etree.Element)):
                text = " ".join(paragraph_text(p) for p in shape.iter(A + "p")).strip()
                texts |= {text: None} if text else {}
    return [f"text of the slides' layout, not read: {text}" for text in texts]
