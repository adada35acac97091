"""PowerPoint 97 to 2003 ([MS-PPT]): slides in order, each with its notes and comments, laid out as by pptx.py."""

from collections.abc import Iterable, Iterator

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.office.binary import slides
from pipeline.parse.office.binary.ole import CompoundFile
from pipeline.parse.office.binary.slide_lists import labels
from pipeline.parse.office.embedded import add_objects_of
from pipeline.parse.writer import TextWriter, one_line

PARSER = "ppt/2"
_DRAWING, _GROUP, _SHAPE = 0x040C, 0xF003, 0xF004
_TEXTBOX, _CLIENT_DATA, _ANCHOR, _OPTIONS = 0xF00D, 0xF011, 0xF00F, 0xF122
_OUTLINE, _PLACEHOLDER, _TRANSITION = 0x0F9E, 0x0BC3, 0x03F9
_TAGS, _TAG, _TAG_DATA, _COMMENT = 0x1388, 0x138A, 0x138B, 0x2EE0
_HEADERS, _HEADERS_ATOM, _DOCUMENT_ATOM = 0x0FD9, 0x0FDA, 0x03E9
_NUMBERED = 0x0FAC
_HIDDEN = 0x04  # of the flags of a transition
_IS_TABLE = 0x039F  # a property of the group that is a table
_NOT_OF_NOTES = {5, 7, 8, 9, 10}  # placeholders on notes: the slide's picture, date, number, footer, header
_HEADER_FLAGS = {0: (0x05, "date"), 1: (0x10, "header"), 2: (0x20, "footer")}


def parse(source: Source, media_type: str) -> Parsed:
    """The presentation; a slide is a page. Raises DocumentError."""
    file, writer = CompoundFile(source.data), source.writer()
    root = file.root.storages.get("pp97_dualstorage", file.root)
    current, stream = file.need(root, "Current User"), file.need(root, "PowerPoint Document")
    presentation = slides.Presentation(current, stream)
    document = presentation.document
    common = {one.instance: one for one in document.children() if one.kind == _HEADERS}
    atom = document.first(_DOCUMENT_ATOM)
    for number, slide in enumerate(presentation.slides, start=atom.number(32, 2) if atom else 1):
        record = presentation.stored(slide.place, slides.SLIDE)
        furniture = {**_furniture(record.first(_HEADERS) or common.get(3)), "number": str(number)}
        _write_slide(writer, _Slide(presentation, furniture), slide, record)
    pictures = root.streams.get("pictures")
    notes = ["pictures not read"] if pictures and pictures.size else []
    notes += add_objects_of(source.members, presentation)
    unseen = source.hidden.found() or source.members.finish()[0]
    if not writer.length and not unseen and pictures is not None:
        raise DocumentError(Failure.NEEDS_OCR, "its slides hold pictures and no text")
    return finish(source, writer, media_type, PARSER, notes=notes)


def _write_slide(outer: TextWriter, reading: "_Slide", slide: slides.Slide, record: slides.Record) -> None:
    """Write one slide, its notes, its comments."""
    transition = record.first(_TRANSITION)
    hidden = bool(transition and transition.number(10, 2) & _HIDDEN)
    writer = outer.unseen() if hidden else outer.inner()
    reading.write_shapes(writer, record, slide.texts)
    writer.block(reading.furniture.get("date", ""))
    writer.block(reading.furniture.get("footer", ""))
    reading.write_notes(writer, record)
    for comment in _tagged(record, _COMMENT):
        texts = {one.instance: slides.string_of(one) for one in comment.children() if one.kind == slides.STRING}
        author = one_line(texts.get(0, ""))
        writer.block(f"Comment{f' ({author})' if author else ''}: {texts.get(1, '')}")
    text = writer.finish()[0]
    if hidden and outer.hide("hidden_slide", text):
        outer.page()
    else:
        outer.page(reading.title, "slide")
        outer.block(text)


class _Slide:
    """A slide being written; `furniture` is what stands for the signs of number, date, header and footer."""

    def __init__(self, presentation: slides.Presentation, furniture: dict[str, str]) -> None:
        self._presentation = presentation
        self.furniture = furniture
        self.title = ""

    def write_shapes(self, writer: TextWriter, record: slides.Record, outline: list[slides.Text]) -> None:
        """The texts of a slide's drawing, in its order; those of the outline that no shape refers to come first."""
        drawing = record.first(_DRAWING)
        boxes = list(slides.below(drawing.children(), _TEXTBOX)) if drawing else []
        referred = {one.number(0) for box in boxes for one in box.children() if one.kind == _OUTLINE}
        self._write(writer, [text for place, text in enumerate(outline) if place not in referred])
        for one in drawing.children() if drawing else ():
            self._group(writer, one, outline)

    def _group(self, writer: TextWriter, record: slides.Record, outline: list[slides.Text]) -> None:
        if record.kind == _SHAPE:
            self._write(writer, self._shape(record, outline))
        elif record.kind == _GROUP and _is_table(record):
            rows: dict[int, list[tuple[int, str]]] = {}  # the cells, which are shapes, by their upper edge
            for shape in slides.below(record.children(), _SHAPE):
                anchor = shape.first(_ANCHOR)
                text = "\n".join(map(self._shown, self._shape(shape, outline)))
                if anchor and shape.first(_TEXTBOX):
                    rows.setdefault(_signed(anchor.number(4)), []).append((_signed(anchor.number(0)), text))
            writer.gap()
            for top in sorted(rows):
                writer.cells([text for _, text in sorted(rows[top])])
            writer.gap()
        elif record.is_container:
            for child in record.children():
                self._group(writer, child, outline)

    def _shape(self, shape: slides.Record, outline: list[slides.Text]) -> Iterator[slides.Text]:
        """The texts of a shape; a record beside them says how their paragraphs are numbered."""
        client = shape.first(_CLIENT_DATA)
        numbered = next(_tagged(client, _NUMBERED), None) if client else None
        for box in shape.children():
            if box.kind == _TEXTBOX:
                parts = list(box.children())
                places = [one.number(0) for one in parts if one.kind == _OUTLINE]
                for text in [*(outline[place] for place in places if place < len(outline)), *slides.texts_of(parts)]:
                    text.labels = labels(text.text, text.looks, bytes(numbered.data)) if numbered else []
                    yield text

    def write_notes(self, writer: TextWriter, record: slides.Record) -> None:
        """The notes of a slide, which stand on a page of their own."""
        page = self._presentation.notes_of(record)
        if page is None:
            return
        drawing = self._presentation.stored(page.place, slides.NOTES).first(_DRAWING)
        shapes = slides.below(drawing.children(), _SHAPE) if drawing else ()
        texts = [text for shape in shapes if _is_of_notes(shape) for text in self._shape(shape, page.texts)]
        if text := "\n".join(line for line in map(self._shown, texts) if line.strip()):
            writer.block(f"Notes: {text}")

    def _write(self, writer: TextWriter, texts: Iterable[slides.Text]) -> None:
        for text in texts:
            shown = self._shown(text)
            if text.kind in slides.TITLES:
                self.title = self.title or one_line(shown)
            writer.block(shown)

    def _shown(self, text: slides.Text) -> str:
        return text.shown(self.furniture, self._presentation.fonts)


def _furniture(headers: slides.Record | None) -> dict[str, str]:
    """The date, header and footer that are switched on and have a text of their own."""
    atom = headers.first(_HEADERS_ATOM) if headers else None
    if headers is None or atom is None:
        return {}
    flags = atom.number(2, 2)
    texts = {one.instance: slides.string_of(one) for one in headers.children() if one.kind == slides.STRING}
    return {
        name: texts[place] for place, (bits, name) in _HEADER_FLAGS.items() if flags & bits == bits and place in texts
    }


def _tagged(holder: slides.Record, kind: int) -> Iterator[slides.Record]:
    """The records of a type among the tags of a slide or a shape."""
    for tags in holder.children():
        for tag in tags.children() if tags.kind == _TAGS else ():
            data = tag.first(_TAG_DATA) if tag.kind == _TAG else None
            yield from (one for one in slides.records(data.data) if one.kind == kind) if data else ()


def _is_of_notes(shape: slides.Record) -> bool:
    placeholder = shape.first(_CLIENT_DATA, _PLACEHOLDER)
    return placeholder is None or placeholder.number(4, 1) not in _NOT_OF_NOTES


def _is_table(group: slides.Record) -> bool:
    first = next(group.children(), None)
    options = first.first(_OPTIONS) if first and first.kind == _SHAPE else None
    return options is not None and any(
        options.number(6 * place, 2) & 0x3FFF == _IS_TABLE and options.number(6 * place + 2) & 1
        for place in range(options.instance)
    )


def _signed(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number
