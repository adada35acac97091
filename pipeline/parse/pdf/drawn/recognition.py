"""Find what of a page must be recognised, not read: pictures that no text explains, fonts that say nothing.

A page with text keeps it. What is recognised on its pictures, which are drawn without any text, goes where they stand
between the lines. Text of fonts without a mapping is replaced by what is recognised on the page as it is drawn.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.drawn.drawing import HUGE, Budget, Drawing, pgm
from pipeline.parse.pdf.drawn.outlines import Written, written
from pipeline.parse.pdf.drawn.regions import Region, is_explained, line_before, regions_of, shows_writing
from pipeline.parse.pdf.drawn.survey import Survey
from pipeline.parse.pdf.geometry import Rectangle
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

_IMAGES = "images without text, not read"
_BESIDE = "pictures beside text, not read"
_RECOGNISED = "text recognised on pictures beside text"
_WORDLESS = "pictures beside text, without words"
_REPLACED = "text recognised, as fonts do not say which characters they show"
_FONTS = "fonts do not say which characters they show, so text is missing or wrong"


class Recognition:
    """The text recognition of one document, by lists of page numbers from 1. The pages of `unread` show what nobody
    has read, and hardly anything else; those of `outlines` more than a few letters among it that are drawn as areas.
    `notes` are those for the row, each with its pages."""

    def __init__(self, pictures: Pictures, budget: Budget, said: Said) -> None:
        self.unread: list[int] = []
        self.outlines: list[int] = []
        self.notes: dict[str, list[int]] = {
            note: [] for note in (_IMAGES, _BESIDE, _RECOGNISED, _WORDLESS, _REPLACED, _FONTS)
        }
        self._pictures = pictures
        self._budget = budget
        self._said = said

    def lacking(self, pages: int) -> str:
        """The reason why a document of `pages` pages, none of which anybody has read, has no text."""
        if set(self.unread) <= set(self.notes[_FONTS]):
            return "its fonts do not say which characters they show, so its pages must be recognised"
        told = "its one page is an image" if pages == 1 else f"its {pages:,} pages are images or blank"
        return f"{told}, without text"

    def text_of(self, page: Page, number: int, seen: Survey, text: str, layer: Sequence[Rectangle]) -> str:
        """The text of a page with what was recognised on it; `layer`: where text lies that pictures show."""
        images = seen.scenery.images
        if not text.strip():
            if not images and not self._outlines(page, seen):
                return ""
            recognised = self._whole(page, number, seen)
            if recognised is None:
                self.unread.append(number)
                self.notes[_IMAGES].append(number)
            return recognised or ""
        mapping = judge(page, page.text(), self._said, seen.fonts)
        if mapping is not Mapping.WHOLE:
            recognised = self._whole(page, number, seen)
            if recognised is not None:
                if mapping is not Mapping.DOUBTFUL or _share_in(text, recognised) < _SAME:
                    self.notes[_REPLACED].append(number)
                    return recognised
            elif mapping is not Mapping.DOUBTFUL:
                self.notes[_FONTS].append(number)
                if mapping is Mapping.LOST:
                    self.unread.append(number)
                    return ""
        outlines = self._outlines(page, seen)
        regions = regions_of(seen.scenery, seen.page, [one.box for one in outlines]) if outlines or images else []
        if not regions:
            return text
        found = self._recognised(page, number, seen, text, layer, regions)
        if number in [*self.unread, *self.notes[_BESIDE]] and sum(one.letters for one in outlines) >= _WRITING:
            self.outlines.append(number)
        return _inserted(text.split("\n"), found, len(page.text().split("\r\n"))) if found else text

    def _outlines(self, page: Page, seen: Survey) -> list[Written]:
        """The parts of a page in which letters may be drawn that are no text."""
        scenery = seen.scenery
        found = written(scenery.paths, [box for box in page.line_boxes() if box != page.box()]) if scenery.paths else []
        for box in scenery.tiled:
            with Drawing(page, seen, self._budget).of([box], 1) as picture:
                if picture and picture.has_ink(box):
                    found.append(Written(box, 0))
        return found

    def _whole(self, page: Page, number: int, seen: Survey) -> str | None:
        is_drawable = all(pdf.pixels_of(item) <= HUGE for item, _ in seen.scenery.images)
        return self._pictures.page(f"page {number}", partial(_draw, page, is_drawable))

    def _recognised(
        self,
        page: Page,
        number: int,
        seen: Survey,
        text: str,
        layer: Sequence[Rectangle],
        regions: Sequence[Region],
    ) -> list[tuple[int, str]]:
        """What was recognised on regions of a page, each after a number of its lines; its text is inactive then."""
        pictures, drawing, of_page = self._pictures, Drawing(page, seen, self._budget), f"page {number} picture "
        lines, letters, found = page.line_boxes(), len("".join(text.split())), list[tuple[int, str]]()
        for item in seen.texts:
            pdf.set_active(item, 0)
        for place, region in enumerate(regions, start=1):
            name, whole = f"{of_page}{place}", region.part >= _FILLED
            if layer and not pictures.is_known(name) and is_explained(drawing, region, layer):
                continue
            draw = partial(_draw, page, region.is_worth, None if whole else region.box)
            recognised = pictures.beside(name, draw, demand_words=not (letters < _FEW and whole), whole=whole)
            if layer:  # of which lines may say the same
                new = (line for line in recognised.split("\n") if _share_in(line, text) < _SAME)
                recognised = "\n".join(new).strip("\n")
            if recognised and _share_in(recognised, text) < _SAME:
                found.append((line_before(page, region, lines), recognised))
        if any(name.startswith(of_page) for name in (*pictures.left, *pictures.unread)):
            filled = [region for region in regions if region.part >= _FILLED]
            # a scan is one with a stamp on it, too
            if filled and (letters < _FEW or (letters < _STAMPS and shows_writing(drawing, filled[0]))):
                self.unread.append(number)
                self.notes[_IMAGES] += [number] if number not in self.notes[_FONTS] else []
            else:
                self.notes[_BESIDE].append(number)
        elif any(name.startswith(of_page) for name in pictures.wordless):
            self.notes[_WORDLESS].append(number)
        self.notes[_RECOGNISED] += [number] if found else []
        return found


def _draw(page: Page, allowed: bool, area: Rectangle | None = None) -> bytes | None:
    return pgm(page.handle, area) if allowed else None


def _share_in(words: str, text: str) -> float:
    """The part of the words of one text that another has, too."""
    ours, theirs = (Counter(word.casefold() for word in _WORD.findall(one)) for one in (words, text))
    return (ours & theirs).total() / ours.total() if ours else 0.0


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
