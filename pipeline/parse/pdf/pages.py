"""The pages of a PDF, one after another: what of their text is seen, and which of them are pictures."""

from collections.abc import Container
from functools import partial
from typing import Any, NamedTuple

from pipeline.parse.contract import Source
from pipeline.parse.pdf.attachments import Attachments
from pipeline.parse.pdf.binding import pdfium
from pipeline.parse.pdf.drawn.drawing import Budget, Drawing, pgm
from pipeline.parse.pdf.drawn.hidden import find, judge, others
from pipeline.parse.pdf.drawn.recognition import Recognition
from pipeline.parse.pdf.drawn.survey import Survey, survey
from pipeline.parse.pdf.geometry import Rectangle
from pipeline.parse.pdf.layers import may_have_layers
from pipeline.parse.pdf.objects import set_active
from pipeline.parse.pdf.runs import runs
from pipeline.parse.pdf.text.arranged import arranged
from pipeline.parse.pdf.text.digits import Digits
from pipeline.parse.pdf.text.heaps import has_heap
from pipeline.parse.pdf.text.letters import Letters
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.pdf.text.remarks import Annotations, annotations_of
from pipeline.parse.pdf.text.replaced import other_texts
from pipeline.parse.pdf.text.said import Said
from pipeline.parse.writer import TextWriter, one_line

_FEW = 5  # contradictions that are told
_TOLD = 80  # characters of each reading

_UNSURE = "too much is drawn to look at it on"
_HEAPS = "letters stand on one spot on"
_LAYERED = "remarks and form fields may be in layers that are off on"
_BROKEN = "damaged, not read"
_SCANS = "pages whose text is a scan's text layer"
_CROWDED = "further remarks and form fields, not read"
_MISREAD = "fonts draw other letters or digits than are read on"


class PageReader:
    """The reader of one document's pages. `texts` and `remarks` have an entry for each page; `broken` are numbers of
    pages, from 1."""

    def __init__(self, document: Any, source: Source, writer: TextWriter, attachments: Attachments) -> None:
        self.texts: list[str] = []
        self.remarks: list[list[str]] = []
        self._told: dict[str, list[int]] = {
            told: [] for told in (_UNSURE, _HEAPS, _LAYERED, _BROKEN, _SCANS, _CROWDED, _MISREAD)
        }
        self.broken = self._told[_BROKEN]
        self._document = document
        self._source = source
        self._writer = writer
        self._attachments = attachments
        self._layers = may_have_layers(source.data)
        self._budget = Budget()
        self._said = Said(document, source.data)
        self._recognition = Recognition(source.pictures, self._budget, self._said)
        self._letters = Letters()
        self._digits = Digits(self._said)
        self._contradictions: list[str] = []

    def read(self, number: int) -> None:
        """Read the next page."""
        self.texts.append("")
        self.remarks.append([])
        try:
            page = Page(self._document, number - 1)
        except pdfium.PdfiumError:
            self.broken.append(number)
            return
        with page:
            found = annotations_of(page, self._document.formenv, self._attachments.add)
            seen = survey(page.address, page.box(), self._layers, found.covers)
            seen.strikes = found.strikes
            self._annotations(page, seen, found, number)
            text, hidden = self._text(page, seen, number)
            if has_heap(page, hidden):
                self._told[_HEAPS].append(number)
            # where only a picture shows a text, as that of a scan's text layer, unless it is hidden
            layer = [
                one.area
                for item, one in seen.suspects.items()
                if one.kind == "covered" or (one.kind == "invisible" and (one.certain or one.outlined))
                if item not in hidden
            ]
            self.texts[-1] = self._recognition.text_of(page, number, seen, text, layer)

    def needs_ocr(self) -> str:
        """The reason for NEEDS_OCR, where the document shows only pictures that nobody has read; else ""."""
        unread = set(self._recognition.unread)
        others = (text for number, text in enumerate(self.texts, start=1) if number not in unread)
        if not unread or self._source.pictures.pending or any(self.remarks):
            return ""
        return "" if any(map(str.strip, others)) else self._recognition.lacking(len(self.texts))

    def doubts(self) -> list[str]:
        """The reasons why it could not be told of some pages whether all of their text is seen."""
        told = ((what, sorted(set(self._told[what]))) for what in (_UNSURE, _HEAPS, _LAYERED))
        return [f"{what} {_pages(numbers)}" for what, numbers in told if numbers]

    def contradictions(self) -> list[str]:
        """The reasons why a person must look at the document: what is read is not what is drawn."""
        told = []
        if wrong := self._said.wrong():
            more = f" and {len(wrong) - _FEW} more" if len(wrong) > _FEW else ""
            told.append(f"fonts have characters read as others than they draw: {', '.join(wrong[:_FEW])}{more}")
        if misread := self._told[_MISREAD]:
            told.append(f"{_MISREAD} {_pages(misread)}")
        if self._recognition.outlines:
            told.append(f"text that is drawn as areas, not read: {_pages(self._recognition.outlines)}")
        return told + self._contradictions

    def notes(self) -> list[str]:
        """Notes for the row, each with the numbers of the pages that it is about."""
        told = self._recognition.notes | {what: self._told[what] for what in (_BROKEN, _SCANS, _CROWDED)}
        return [f"{what}: {_pages(numbers)}" for what, numbers in told.items() if numbers]

    def _contradict(self, what: str, said: str, drawn: str) -> None:
        """Note that one text is said and another one drawn, of a few."""
        if len(self._contradictions) < _FEW:
            self._contradictions.append(f'{what}: "{one_line(said)[:_TOLD]}" for "{one_line(drawn)[:_TOLD]}"')

    def _annotations(self, page: Page, seen: Survey, found: Annotations, number: int) -> None:
        if found.drawn:
            judge(page, found, Drawing(page, seen, self._budget))
            found.others += others(self._source.data, number, found)
        for said, drawn in found.others:
            self._contradict(f"a form field or remark that is shown otherwise on page {number}", said, drawn)
        hidden = [text for text, kind in found.hidden.items() if not self._writer.hide(kind, text)]
        self.remarks[-1] = found.shown + hidden
        self._tell(number, {_CROWDED: found.left_out, _UNSURE: found.unsure, _LAYERED: found.layered and self._layers})

    def _tell(self, number: int, told: dict[str, int]) -> None:
        for what, holds in told.items():
            self._told[what] += [number] if holds else []

    def _text(self, page: Page, seen: Survey, number: int) -> tuple[str, set[int]]:
        """The page's text without what is hidden, and the texts that are hidden as a whole."""
        page.load_text()
        draw = partial(pgm, page.handle)
        misread = any(map(self._letters.are_others, seen.fonts))
        misread = misread or self._digits.are_others(page, seen.fonts, seen.texts, draw)
        self._tell(number, {_MISREAD: misread})
        for one in other_texts(page, seen.texts, self._document, remove=self._source.options.hidden != "keep"):
            self._writer.hide("replaced", one.value)
            self._contradict(f"text to be read in place of what is drawn on page {number}", one.value, one.drawn)
        if not seen.suspects:
            return _text_of(page, seen), set()
        finding = find(page, seen, self._budget)
        self._tell(number, {_SCANS: finding.scan, _UNSURE: finding.unsure})
        left_out = [self._writer.hide(kind, "".join(texts)) for kind, texts in finding.texts.items()]
        if not any(left_out):
            return _text_of(page, seen), set()
        if finding.parted:
            return _text_of(page, seen, page.text_places(finding.places)), set(finding.whole)
        for item in finding.whole:
            set_active(item, 0)
        page.load_text()
        return _text_of(page, seen), set(finding.whole)


def _text_of(page: Page, seen: Survey, left_out: Container[int] = ()) -> str:
    """The page's text, which is loaded, in the order in which it is to be read, with marks, but for these places; with
    "\\n" at the ends of lines, and no white space before them."""
    text, pieces = page.text(), list[str]()
    for piece in arranged(page, seen.layout):
        if isinstance(piece, str):
            pieces.append(piece)
        else:
            start, end = piece
            pieces += [text[at] for at in range(start, end) if at not in left_out] if left_out else [text[start:end]]
    text = "".join(pieces).replace("\r\n", "\n").replace(" \n", "\n")  # there is one, mostly
    if " \n" not in text and "\t\n" not in text and "\r" not in text:
        return text
    *lines, last = text.split("\n")
    return "\n".join([*(line.rstrip(" \t\r") for line in lines), last])


def _pages(numbers: list[int]) -> str:
    """The numbers of pages in words: "page 3", "pages 2, 5-9"."""
    parts = runs(numbers, lambda run, number: number == run[-1] + 1)
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in parts)
    return f"{'page' if len(numbers) == 1 else 'pages'} {shown}"


class Placed(NamedTuple):
    """A character and its box in points of the page; that of a form field's value or a remark is the whole one's."""

    character: str
    box: Rectangle


def placed_characters(page: Page, document: Any, *, layers: bool, drop: bool) -> list[Placed]:
    """The characters of a page, then those of its annotations, as they follow one another in the parsed text.

    `layers`: the document may have any. `drop`: what is hidden has no part in the text, as a job may say.
    """
    found = annotations_of(page, document.formenv, lambda handle: None)
    seen = survey(page.address, page.box(), layers, found.covers)
    seen.strikes = found.strikes
    page.load_text()
    other_texts(page, seen.texts, document, remove=drop)
    hidden = page.text_places(find(page, seen, Budget()).places) if drop and seen.suspects else set[int]()
    text = page.text()
    placed = [
        Placed(text[place], page.box_at(place))
        for piece in arranged(page, seen.layout)
        if not isinstance(piece, str)
        for place in range(*piece)
        if place not in hidden and not text[place].isspace()
    ]
    return placed + [Placed(one, drawn.box) for drawn in found.drawn for one in drawn.text]
