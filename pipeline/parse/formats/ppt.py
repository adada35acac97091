"""PowerPoint 97 to 2003 ([MS-PPT]): slides in order, each with its notes and comments, laid out as by pptx.py."""

from collections.abc import Iterator

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.office.binary import slides
from pipeline.parse.office.binary.ole import CompoundFile, Stream
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
    reading = _Reading(writer, presentation)
    for number, slide in enumerate(presentation.slides, start=1):
        reading.slide(slide, number)
    notes = reading.notes(root.streams.get("pictures")) + add_objects_of(source.members, presentation)
    unseen = source.hidden.found() or source.members.finish()[0]
    if not writer.length and not unseen and "pictures" in root.streams:
        raise DocumentError(Failure.NEEDS_OCR, "its slides hold pictures and no text")
    return finish(source, writer, media_type, PARSER, notes=notes)


class _Reading:
    def __init__(self, writer: TextWriter, presentation: slides.Presentation) -> None:
        self._outer = self._writer = writer
        self._presentation = presentation
        self._title = ""  # of the slide
        self._furniture: dict[str, str] = {}  # what stands for the signs of number, date, header and footer
        document = presentation.document
        self._common = {one.instance: one for one in document.children() if one.kind == _HEADERS}
        atom = document.first(_DOCUMENT_ATOM)
        self._first = atom.number(32, 2) if atom else 1

    def slide(self, slide: slides.Slide, number: int) -> None:
        """Write one slide, its notes, its comments."""
        record = self._presentation.record(slide, slides.SLIDE)
        self._furniture = _furniture(record.first(_HEADERS) or self._common.get(3))
        self._furniture["number"] = str(self._first + number - 1)
        transition = record.first(_TRANSITION)
        hidden = bool(transition and transition.number(10, 2) & _HIDDEN)
        self._writer, self._title = self._outer.unseen() if hidden else self._outer.inner(), ""
        self._shapes(record, slide.texts)
        self._writer.block(self._furniture.get("date", ""))
        self._writer.block(self._furniture.get("footer", ""))
        self._notes(record)
        for tag in (tag for tags in record.children() if tags.kind == _TAGS for tag in tags.children()):
            data = tag.first(_TAG_DATA) if tag.kind == _TAG else None
            for comment in (one for one in slides.records(data.data) if one.kind == _COMMENT) if data else ():
                texts = {one.instance: slides.string_of(one) for one in comment.children() if one.kind == slides.STRING}
                author = one_line(texts.get(0, ""))
                self._writer.block(f"Comment{f' ({author})' if author else ''}: {texts.get(1, '')}")
        text = self._writer.finish()[0]
        if hidden and self._outer.hide("hidden_slide", text):
            self._outer.page()
        else:
            self._outer.page(self._title, "slide")
            self._outer.block(text)

    def notes(self, pictures: Stream | None) -> list[str]:
        """Notes for the row: whether there are pictures, which are not read."""
        return ["pictures not read"] if pictures and pictures.size else []

    def _shapes(self, record: slides.Record, outline: list[slides.Text]) -> None:
        """The texts of a slide's drawing, in its order; those of the outline that no shape refers to come first."""
        drawing = record.first(_DRAWING)
        shapes = list(slides.below(drawing.children(), _TEXTBOX)) if drawing else []
        referred = {one.number(0) for shape in shapes for one in shape.children() if one.kind == _OUTLINE}
        for place, text in enumerate(outline):
            if place not in referred:
                self._write(text)
        if drawing:
            for one in drawing.children():
                self._group(one, outline)

    def _group(self, record: slides.Record, outline: list[slides.Text]) -> None:
        if record.kind == _SHAPE:
            for text in self._shape(record, outline):
                self._write(text)
        elif record.kind == _GROUP and _is_table(record):
            self._table(record, outline)
        elif record.is_container:
            for child in record.children():
                self._group(child, outline)

    def _shape(self, shape: slides.Record, outline: list[slides.Text]) -> Iterator[slides.Text]:
        extended = _extension(shape)
        for box in shape.children():
            if box.kind == _TEXTBOX:
                parts = list(box.children())
                places = [one.number(0) for one in parts if one.kind == _OUTLINE]
                for text in [*(outline[place] for place in places if place < len(outline)), *slides.texts_of(parts)]:
                    text.labels = labels(text.text, text.looks, extended) if extended else []
                    yield text

    def _table(self, group: slides.Record, outline: list[slides.Text]) -> None:
        """The cells of a table are shapes; those with the same upper edge are a row."""
        rows: dict[int, list[tuple[int, str]]] = {}
        for shape in slides.below(group.children(), _SHAPE):
            anchor = shape.first(_ANCHOR)
            text = "\n".join(
                one.shown(self._furniture, self._presentation.fonts) for one in self._shape(shape, outline)
            )
            if anchor and shape.first(_TEXTBOX):
                rows.setdefault(_signed(anchor.number(4)), []).append((_signed(anchor.number(0)), text))
        self._writer.gap()
        for top in sorted(rows):
            self._writer.cells([text for _, text in sorted(rows[top])])
        self._writer.gap()

    def _notes(self, record: slides.Record) -> None:
        page = self._presentation.notes_of(record)
        if page is None:
            return
        drawing = self._presentation.record(page, slides.NOTES).first(_DRAWING)
        shapes = slides.below(drawing.children(), _SHAPE) if drawing else ()
        texts = [text for shape in shapes if _is_of_notes(shape) for text in self._shape(shape, page.texts)]
        lines = [text.shown(self._furniture, self._presentation.fonts) for text in texts]
        if text := "\n".join(line for line in lines if line.strip()):
            self._writer.block(f"Notes: {text}")

    def _write(self, text: slides.Text) -> None:
        shown = text.shown(self._furniture, self._presentation.fonts)
        if text.kind in slides.TITLES:
            self._title = self._title or one_line(shown)
        self._writer.block(shown)


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


def _extension(shape: slides.Record) -> bytes:
    """The record that says how the paragraphs of a shape are numbered; b"" where there is none."""
    client = shape.first(_CLIENT_DATA)
    for tags in client.children() if client else ():
        for tag in tags.children() if tags.kind == _TAGS else ():
            data = tag.first(_TAG_DATA) if tag.kind == _TAG else None
            for record in slides.records(data.data) if data else ():
                if record.kind == _NUMBERED:
                    return bytes(record.data)
    return b""


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
