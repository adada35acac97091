"""Find what of a page must be recognised, not read: pictures that no text explains, fonts that say nothing.

A page with text keeps it. What is recognised on its pictures, which are drawn without any text, goes where they stand
between the lines. Text of fonts without a mapping is replaced by what is recognised on the page as it is drawn.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.drawn.drawing import HUGE, Budget, Drawing, pgm
from pipeline.parse.pdf.drawn.outlines import Written, written
from pipeline.parse.pdf.drawn.regions import Region, is_explained, line_before, regions_of, shows_writing
from pipeline.parse.pdf.drawn.survey import Survey
from pipeline.parse.pdf.geometry import Rectangle
from pipeline.parse.pdf.objects import set_active
from pipeline.parse.pdf.text.mapping import Mapping, judge
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.pdf.text.said import Said
from pipeline.parse.pictures.given import Pictures

_FEW = 20  # characters on a picture of the whole page: a number or a stamp
_STAMPS = 200  # characters that may be stamps and captions on it, where the picture is one of writing
_FILLED = 0.7  # of a page that pictures fill, which then are what it shows
_SAME = 0.6  # of the words on a picture, or of a page, that are in the text already
_WRITING = 60  # letters that are drawn as areas and are more than a logo
_WORD = re.compile(r"\w{3,}")


class Recognition:
    """The text recognition of one document, by lists of page numbers from 1. The pages of `unread` show what nobody
    has read, and hardly anything else.

    `beside` have pictures beside text that nobody has read, `outlines` more than a few letters among them that are
    drawn as areas, `fonts` text that is not what they show, and
    `recognised` something that was recognised.
    """

    def __init__(self, pictures: Pictures, budget: Budget, said: Said) -> None:
        self.unread: list[int] = []
        self.beside: list[int] = []
        self.fonts: list[int] = []
        self.replaced: list[int] = []
        self.recognised: list[int] = []
        self.wordless: list[int] = []
        self.outlines: list[int] = []
        self._pictures = pictures
        self._budget = budget
        self._said = said

    def told(self) -> dict[str, list[int]]:
        """The notes for the row, each with the numbers of the pages that it is about."""
        return {
            "images without text, not read": [one for one in self.unread if one not in self.fonts],
            "pictures beside text, not read": self.beside,
            "text recognised on pictures beside text": self.recognised,
            "pictures beside text, without words": self.wordless,
            "text recognised, as fonts do not say which characters they show": self.replaced,
            "fonts do not say which characters they show, so text is missing or wrong": self.fonts,
        }

    def lacking(self, pages: int) -> str:
        """The reason why a document of `pages` pages, none of which anybody has read, has no text."""
        if set(self.unread) <= set(self.fonts):
            return "its fonts do not say which characters they show, so its pages must be recognised"
        told = "its one page is an image" if pages == 1 else f"its {pages:,} pages are images or blank"
        return f"{told}, without text"

    def text_of(self, page: Page, number: int, seen: Survey, text: str, layer: Sequence[Rectangle]) -> str:
        """The text of a page with what was recognised on it; `layer`: where text lies that pictures show."""
        if not text.strip():
            return self._page(page, number, seen)
        mapping = judge(page, page.text(), self._said, seen.fonts)
        if mapping is not Mapping.WHOLE:
            instead = self._instead(page, number, seen, text, mapping)
            if instead is not text:
                return instead
        outlines = self._outlines(page, seen)
        if not outlines and not seen.scenery.images:
            return text
        return self._with_regions(page, number, seen, text, layer, outlines)

    def _outlines(self, page: Page, seen: Survey) -> list[Written]:
        """The parts of a page in which letters may be drawn that are no text."""
        scenery = seen.scenery
        found = written(scenery.paths, [box for box in page.line_boxes() if box != page.box()]) if scenery.paths else []
        for box in scenery.tiled:
            with Drawing(page, seen, self._budget).of([box], 1) as picture:
                if picture and picture.has_ink(box):
                    found.append(Written(box, 0))
        return found

    def _page(self, page: Page, number: int, seen: Survey) -> str:
        """A page without text: a picture, where it has one."""
        if not seen.scenery.images and not self._outlines(page, seen):
            return ""
        text = self._pictures.page(_name(number), _whole(page, seen))
        if text is None:
            self.unread.append(number)
        return text or ""

    def _instead(self, page: Page, number: int, seen: Survey, text: str, mapping: Mapping) -> str:
        """The recognised text in place of the page's, unless both say the same; its own, or "", if nobody read it."""
        recognised = self._pictures.page(_name(number), _whole(page, seen))
        if recognised is not None:
            if mapping is Mapping.DOUBTFUL and _share_in(text, recognised) >= _SAME:
                return text
            self.replaced.append(number)
            return recognised
        if mapping is not Mapping.DOUBTFUL:
            self.fonts.append(number)
        if mapping is not Mapping.LOST:
            return text
        self.unread.append(number)
        return ""

    def _with_regions(
        self,
        page: Page,
        number: int,
        seen: Survey,
        text: str,
        layer: Sequence[Rectangle],
        outlines: Sequence[Written],
    ) -> str:
        regions = regions_of(seen.scenery, seen.page, [one.box for one in outlines])
        if not regions:
            return text
        lines = page.line_boxes()
        for item in seen.texts:
            set_active(item, 0)
        found: list[tuple[int, str]] = []
        few = len("".join(text.split())) < _FEW
        drawing = Drawing(page, seen, self._budget)
        for place, region in enumerate(regions, start=1):
            name = f"{_name(number)} picture {place}"
            if layer and not self._pictures.is_known(name) and is_explained(drawing, region, layer):
                continue
            whole = region.part >= _FILLED
            draw = partial(pgm, page.handle, None if whole else region.box) if region.is_worth else _nothing
            recognised = self._pictures.beside(name, draw, demand_words=not (few and whole), whole=whole)
            if layer:
                recognised = _beyond(recognised, text)
            if recognised and _share_in(recognised, text) < _SAME:
                found.append((line_before(page, region, lines), recognised))
        self._note(drawing, number, regions, text)
        if number in [*self.unread, *self.beside] and sum(one.letters for one in outlines) >= _WRITING:
            self.outlines.append(number)
        self.recognised += [number] if found else []
        return _inserted(text.split("\n"), found, len(lines)) if found else text

    def _note(self, drawing: Drawing, number: int, regions: list[Region], text: str) -> None:
        """Note what became of a page's pictures; a scan that nobody has read is `unread`, even with a stamp on it."""
        of_page = f"{_name(number)} picture "
        missed = [*self._pictures.left, *self._pictures.unread]
        if any(name.startswith(of_page) for name in missed):
            filled = [region for region in regions if region.part >= _FILLED]
            letters = len("".join(text.split()))
            scan = filled and (letters < _FEW or (letters < _STAMPS and shows_writing(drawing, filled[0])))
            (self.unread if scan else self.beside).append(number)
        elif any(name.startswith(of_page) for name in self._pictures.wordless):
            self.wordless.append(number)


def _nothing() -> None:
    return None


def _whole(page: Page, seen: Survey) -> Callable[[], bytes | None]:
    """A function that draws a page as PGM with all that is on it; it gives None if a picture there is too large."""
    huge = any(pdf.pixels_of(item) > HUGE for item, _ in seen.scenery.images)
    return _nothing if huge else partial(pgm, page.handle)


def _name(number: int) -> str:
    return f"page {number}"


def _share_in(words: str, text: str) -> float:
    """The part of the words of one text that another has, too."""
    ours, theirs = Counter(_words(words)), Counter(_words(text))
    return (ours & theirs).total() / ours.total() if ours else 0.0


def _beyond(recognised: str, text: str) -> str:
    """The lines of what was recognised that the text layer of a page does not have."""
    return "\n".join(line for line in recognised.split("\n") if _share_in(line, text) < _SAME).strip("\n")


def _words(text: str) -> Iterable[str]:
    return (word.casefold() for word in _WORD.findall(text))


def _inserted(lines: list[str], found: list[tuple[int, str]], counted: int) -> str:
    """The lines with blocks after so many of them each; all blocks at the end if `lines` differ from those counted."""
    blocks: list[str] = []
    start = 0
    for place, text in sorted(found, key=lambda one: one[0]):
        end = place if len(lines) == counted else len(lines)
        blocks += ["\n".join(lines[start:end]), text]
        start = end
    blocks.append("\n".join(lines[start:]))
    return "\n\n".join(block.strip("\n") for block in blocks if block.strip())
