"""PowerPoint presentations (PresentationML, ISO/IEC 29500-1, 19): slides in order, each with its notes and comments.

What stands on a layout or master behind the slides, and is no placeholder, is written with the first slide that
shows it.
"""

import math
from collections.abc import Iterator
from itertools import takewhile

from lxml import etree

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.markup.reading import LXML, whole_number
from pipeline.parse.office.drawing.scene import Scene, background
from pipeline.parse.office.drawing.shapes import A, R, is_furniture, paragraph_text, write_shapes
from pipeline.parse.office.drawing.slide_styles import SlideStyles, slide_theme
from pipeline.parse.office.drawing.view import View
from pipeline.parse.office.embedded import add_embedded, refuse_pictures_alone
from pipeline.parse.office.package import ALTERNATIVES, Package, contradiction
from pipeline.parse.office.word.fields import is_date
from pipeline.parse.pictures.shown import Shown
from pipeline.parse.sight.hidden import quoted
from pipeline.parse.writer import TextWriter

PARSER = f"pptx/7 {LXML}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_ENDLESS = View(math.inf, math.inf)
_GOING = {"exit", "path", "emph"}  # kinds of animations
_FALSE = {"0", "false", "off"}


def parse(source: Source, media_type: str) -> Parsed:
    """The presentation; a slide is a page. Raises DocumentError."""
    package, writer = Package(source.data, Shown(source.pictures)), source.writer()
    presentation = package.xml(package.main)
    slides = _Slides(writer, package, presentation)
    relations = package.relations(package.main)
    for slide in presentation.iterfind(f"{P}sldIdLst/{P}sldId"):
        relation = relations.get(slide.get(R + "id", ""))
        if relation is None or not package.has(relation.target):
            raise DocumentError(Failure.CORRUPT, "one of its slides is missing")
        slides.write(relation.target)
    notes = add_embedded(source.members, package)
    refuse_pictures_alone(source, writer, package, "its slides hold")
    return finish(source, writer, media_type, PARSER, notes=notes)


class _Slides:
    """The slides being written, and what stood behind those before."""

    def __init__(self, writer: TextWriter, package: Package, presentation: etree._Element) -> None:
        self._writer = writer
        self._package = package
        self._presentation = presentation
        parts = package.related(package.main, "commentAuthors") + package.related(package.main, "authors")
        authors = [author for part in parts for author in package.xml(part).iter("{*}cmAuthor", "{*}author")]
        self._authors = {author.get("id", ""): author.get("name", "") for author in authors}  # by number or GUID
        self._behind = set[str]()  # texts of layouts and masters, written once
        self._written = set[str]()  # layouts and masters that were
        self._trees: dict[str, etree._Element] = {}  # of layouts and masters
        self._drawn: dict[str, etree._Element] = {}  # the same without placeholders
        self._view = _view(presentation)
        self._number = whole_number(presentation.get("firstSlideNum"), 1) - 1  # of the slide before

    def write(self, part: str) -> None:
        """Write a slide as a page; a hidden one is an empty page, by the job's rule."""
        slide = self._package.xml(part)
        self._number += 1
        for reason in _fill_in(slide, self._number):
            self._writer.review(reason)
        for choice in slide.iter(ALTERNATIVES):
            for reason in contradiction(choice):
                self._writer.review(reason)
        if slide.get("show") not in _FALSE:
            self._writer.page(_title(slide), "slide")
            self._write_seen(part, slide)
            self._write_beside(self._writer, part)
            return
        self._writer.page()
        self._writer.hidden("hidden_slide", lambda unseen: self._write_unseen(unseen, part, slide))

    def _write_unseen(self, writer: TextWriter, part: str, slide: etree._Element) -> None:
        write_shapes(writer, self._package, part, slide)
        self._write_beside(writer, part)

    def _write_seen(self, part: str, slide: etree._Element) -> None:
        """Write the shapes of a slide, then those behind it that were not written with one before."""
        package = self._package
        parts = [part, *package.related(part, "slideLayout")[:1]]
        parts += [master for layout in parts[1:] for master in package.related(layout, "slideMaster")[:1]]
        trees = [slide, *map(self._tree, parts[1:])]
        drawn = list(takewhile(lambda tree: tree.get("showMasterSp") not in _FALSE, trees))
        behind = parts[1 : len(drawn) + 1]
        themes = [slide_theme(package, parts[number:], trees[number:]) for number in range(len(trees))]
        styles = SlideStyles(trees, themes[0], self._presentation, self._view)
        layers = [(self._drawn[one], theme) for one, theme in zip(behind, themes[1:], strict=False)]
        backdrop = background(list(zip(trees, themes, strict=True)))
        scene = Scene(self._view, backdrop, [*reversed(layers), (slide, themes[0])], styles)
        write_shapes(self._writer, package, part, slide, scene)
        if any(one.get("presetClass") in _GOING for one in slide.iter("{*}cTn")):
            self._writer.doubt("an animation that takes shapes away or moves them")
        for one in behind:
            if one not in self._written:
                self._written.add(one)
                inner = self._writer.inner()
                write_shapes(inner, package, one, self._drawn[one], scene)
                text, _ = inner.finish()
                if text not in self._behind:
                    self._writer.block(text)
                self._behind.add(text)

    def _write_beside(self, writer: TextWriter, part: str) -> None:
        package = self._package
        for notes in package.related(part, "notesSlide"):
            shapes = [shape for shape in package.xml(notes).iter(P + "sp") if not is_furniture(shape)]
            _write_paragraphs(writer, "Notes: ", shapes)
        for comments in package.related(part, "comments"):
            for comment in package.xml(comments).iter("{*}cm", "{*}reply"):
                author = self._authors.get(comment.get("authorId", ""), "")
                label = f"Comment ({author}): " if author else "Comment: "
                for text in comment.iterchildren("{*}text"):
                    writer.block(label + (text.text or ""))
                _write_paragraphs(writer, label, list(comment.iterchildren("{*}txBody")))

    def _tree(self, part: str) -> etree._Element:
        """A layout or a master; one without its placeholders is kept beside it: prompts are not shown, and what fills
        them is on the slides."""
        if part not in self._trees:
            self._trees[part], drawn = self._package.xml(part), self._package.xml(part)
            for shape in list(drawn.iter(P + "sp", P + "pic", P + "graphicFrame")):
                outer = shape.getparent()
                if outer is not None and shape.find(f"*/{P}nvPr/{P}ph") is not None:
                    outer.remove(shape)
            self._drawn[part] = drawn
        return self._trees[part]


def _fill_in(slide: etree._Element, number: int) -> Iterator[str]:
    """Put the number of a slide where it stands for itself; reasons where another field is no date."""
    for field in slide.iter(A + "fld"):
        kind, texts = field.get("type", ""), list(field.iterchildren(A + "t"))
        stored = "".join(text.text or "" for text in texts)
        if kind == "slidenum":
            for place, text in enumerate(texts):
                text.text = "" if place else str(number)
        elif kind.startswith("datetime") and not is_date(stored):
            yield f'a date that is always filled in anew has "{quoted(stored)}" stored in its place'


def _view(presentation: etree._Element) -> View:
    size = presentation.find(P + "sldSz")
    try:
        return View(float(int(size.get("cx", ""))), float(int(size.get("cy", "")))) if size is not None else _ENDLESS
    except (ValueError, OverflowError):
        return _ENDLESS


def _title(slide: etree._Element) -> str:
    for shape in slide.iter(P + "sp"):
        place = shape.find(f"{P}nvSpPr/{P}nvPr/{P}ph")
        if place is not None and place.get("type") in {"title", "ctrTitle"}:
            return " ".join(paragraph_text(paragraph) for paragraph in shape.iter(A + "p"))
    return ""


def _write_paragraphs(writer: TextWriter, label: str, elements: list[etree._Element]) -> None:
    lines = [paragraph_text(p) for element in elements for p in element.iter(A + "p")]
    text = "\n".join(line for line in lines if line.strip())
    if text:
        writer.block(label + text)
