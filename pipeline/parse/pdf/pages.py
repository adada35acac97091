"""The pages of a PDF, one after another: what of their text is seen, and which of them are pictures."""

from collections.abc import Container
from functools import partial
from typing import Any

from pipeline.parse.contract import Source
from pipeline.parse.pdf.attachments import Attachments
from pipeline.parse.pdf.binding import pdfium
from pipeline.parse.pdf.drawn.drawing import Budget, Drawing, pgm
from pipeline.parse.pdf.drawn.hidden import Finding, find, judge, others
from pipeline.parse.pdf.drawn.recognition import Recognition
from pipeline.parse.pdf.drawn.survey import Survey, Suspect, survey
from pipeline.parse.pdf.layers import may_have_layers
from pipeline.parse.pdf.objects import set_active
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


class PageReader:
    """The reader of one document's pages. Its lists have an entry for each page; page numbers are from 1."""

    def __init__(self, document: Any, source: Source, writer: TextWriter, attachments: Attachments) -> None:
        self.texts: list[str] = []
        self.remarks: list[list[str]] = []
        self.broken: list[int] = []
        self._document = document
        self._source = source
        self._writer = writer
        self._attachments = attachments
        self._layers = may_have_layers(source.data)
        self._budget = Budget()
        self._said = Said(document, source.data)
        self._recognition = Recognition(source.pictures, self._budget, self._said)
        self._scans: list[int] = []
        self._unsure: list[int] = []
        self._layered: list[int] = []
        self._letters = Letters()
        self._digits = Digits(self._said)
        self._misread: list[int] = []
        self._heaps: list[int] = []
        self._crowded: list[int] = []
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
            self._read(page, number)

    def _read(self, page: Page, number: int) -> None:
        found = annotations_of(page, self._document.formenv, self._attachments.add)
        seen = survey(page.address, page.box(), self._layers, found.covers)
        seen.strikes = found.strikes
        self._annotations(page, seen, found, number)
        text, hidden = self._text(page, seen, number)
        if has_heap(page, hidden):
            self._heaps.append(number)
        layer = [one.area for item, one in seen.suspects.items() if _is_unpainted(one) and item not in hidden]
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
        told = {
            "too much is drawn to look at it on": self._unsure,
            "letters stand on one spot on": self._heaps,
            "remarks and form fields may be in layers that are off on": self._layered,
        }
        return [f"{what} {_pages(sorted(set(numbers)))}" for what, numbers in told.items() if numbers]

    def contradictions(self) -> list[str]:
        """The reasons why a person must look at the document: what is read is not what is drawn."""
        wrong = self._said.wrong()
        more = f" and {len(wrong) - _FEW} more" if len(wrong) > _FEW else ""
        told = (
            [f"fonts have characters read as others than they draw: {', '.join(wrong[:_FEW])}{more}"] if wrong else []
        )
        told += (
            [f"fonts draw other letters or digits than are read on {_pages(self._misread)}"] if self._misread else []
        )
        if self._recognition.outlines:
            told.append(f"text that is drawn as areas, not read: {_pages(self._recognition.outlines)}")
        return told + self._contradictions

    def _contradict(self, what: str, said: str, drawn: str) -> None:
        """Note that one text is said and another one drawn, of a few."""
        if len(self._contradictions) < _FEW:
            self._contradictions.append(f'{what}: "{one_line(said)[:_TOLD]}" for "{one_line(drawn)[:_TOLD]}"')

    def notes(self) -> list[str]:
        """Notes for the row, each with the numbers of the pages that it is about."""
        told = {
            "damaged, not read": self.broken,
            "pages whose text is a scan's text layer": self._scans,
            "further remarks and form fields, not read": self._crowded,
        }
        told = self._recognition.told() | told
        return [f"{what}: {_pages(numbers)}" for what, numbers in told.items() if numbers]

    def _annotations(self, page: Page, seen: Survey, found: Annotations, number: int) -> None:
        if found.drawn:
            judge(page, found, Drawing(page, seen, self._budget))
            found.others += others(self._source.data, number, found)
        for said, drawn in found.others:
            self._contradict(f"a form field or remark that is shown otherwise on page {number}", said, drawn)
        hidden = [text for text, kind in found.hidden.items() if not self._writer.hide(kind, text)]
        self.remarks[-1] = found.shown + hidden
        if found.left_out:
            self._crowded.append(number)
        if found.unsure:
            self._unsure.append(number)
        if found.layered and self._layers:
            self._layered.append(number)

    def _text(self, page: Page, seen: Survey, number: int) -> tuple[str, set[int]]:
        """The page's text without what is hidden, and the texts that are hidden as a whole."""
        page.load_text()
        draw = partial(pgm, page.handle)
        if any(map(self._letters.are_others, seen.fonts)) or self._digits.are_others(
            page, seen.fonts, seen.texts, draw
        ):
            self._misread.append(number)
        for replacement in other_texts(page, seen.texts, self._document, remove=self._source.options.hidden != "keep"):
            self._writer.hide("replaced", replacement.value)
            self._contradict(
                f"text to be read in place of what is drawn on page {number}", replacement.value, replacement.drawn
            )
        if seen.suspects:
            finding = find(page, seen, self._budget)
            if finding.scan:
                self._scans.append(number)
            if finding.unsure:
                self._unsure.append(number)
            hidden = [self._writer.hide(kind, "".join(texts)) for kind, texts in finding.texts.items()]
            if any(hidden):
                return _without(page, seen, finding), set(finding.whole)
        return _text_of(page, seen), set()


def _is_unpainted(suspect: Suspect) -> bool:
    """Whether a text is one that only a picture shows, as that of a scan's text layer, if it is not hidden."""
    return suspect.kind == "covered" or (suspect.kind == "invisible" and (suspect.certain or suspect.outlined))


def _text_of(page: Page, seen: Survey, left_out: Container[int] = ()) -> str:
    """The page's text, which is loaded, in the order in which it is to be read, with marks, but for these places."""
    text = page.text()
    pieces = arranged(page, seen.layout)
    return _in_lines("".join(one if isinstance(one, str) else _but(text, *one, left_out) for one in pieces))


def _but(text: str, start: int, end: int, left_out: Container[int]) -> str:
    return "".join(text[at] for at in range(start, end) if at not in left_out) if left_out else text[start:end]


def _in_lines(text: str) -> str:
    """The text with "\n" at the ends of lines, and no white space before them."""
    text = text.replace("\r\n", "\n").replace(" \n", "\n")  # there is one, mostly
    if " \n" not in text and "\t\n" not in text and "\r" not in text:
        return text
    *lines, last = text.split("\n")
    return "\n".join([*(line.rstrip(" \t\r") for line in lines), last])


def _without(page: Page, seen: Survey, finding: Finding) -> str:
    """The page's text without what is hidden."""
    if not finding.parted:
        for item in finding.whole:
            set_active(item, 0)
        page.load_text()
        return _text_of(page, seen)
    return _text_of(page, seen, page.text_places(finding.places))


def _pages(numbers: list[int]) -> str:
    """The numbers of pages in words: "page 3", "pages 2, 5-9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {shown}"
