"""The scenery of a page is what it holds besides text: areas of colour and pictures, over or under which a text may
be lost.

Their places are kept as cells of a grid, so that thousands of them cost little; a cell that two share is a suspicion
and no more than that.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import accumulate, takewhile
from operator import attrgetter, or_

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.drawn.outlines import Drawn, drawn
from pipeline.parse.pdf.geometry import Matrix, Rectangle, around, stretching, transformed
from pipeline.parse.sight.colours import alike

_CELLS = 64  # along each side
_LAST = _CELLS - 1
_ROWS = [sum(1 << (_CELLS * row) for row in range(count)) for count in range(_CELLS + 1)]
_THINNEST = 2.0  # points; what is thinner is a line, under which no text fits
_RULE = 3.5  # points that pdfium takes a line for high that is ruled in one of them
_LINE = 2  # segments of a line, the first one of which is where it begins
_GAP = 0.5  # points between two lines that may hide a text together
_MOST = 4000  # areas that are told apart; further ones count as one
_FEW = 64  # areas that are looked at one by one
_TOUCH = 0.5  # points
PAPER = (255, 255, 255)
"""The colour behind all that is painted."""

TILED = (191, 191, 191)
"""The colour that pdfium tells of a tiling pattern."""
_SIGN = 20.0  # points across of a pattern that may have a word in it

Colour = tuple[int, int, int]


@dataclass(slots=True)
class _Area:
    """An area painted after `first` and up to `last` texts of the page; no colour: a picture, or one of many.

    A large letter hides what is below it, but nothing is written on it: it is `behind` nothing.
    """

    first: int
    last: int
    colour: Colour | None
    box: Rectangle
    behind: bool = True
    more: int = 0  # cells of further areas, of which this one is the last


class Scenery:
    """The areas and pictures of a page, whose visible part is `box`; texts are asked about in order of painting."""

    def __init__(self, box: Rectangle) -> None:
        self._left, self._bottom = box[0], box[1]
        self._across = _CELLS / max(box[2] - box[0], 1e-3)
        self._upwards = _CELLS / max(box[3] - box[1], 1e-3)
        self._areas: list[_Area] = []
        self._colours: set[Colour | None] = set()
        self._later: list[int] | None = None  # cells of each area and of all after it
        self._behind: dict[Colour | None, int] = {}  # cells of each colour painted so far
        self._alike: dict[Colour, list[_Area]] = {}  # areas on which a text of a colour may be lost
        self._next = 0
        self._next_cover = 0
        self._line: Rectangle | None = None  # around the last lines that lie side by side
        self._rows = 0  # a bit for each row of cells that something touches
        self.images: list[tuple[int, Rectangle]] = []
        self.paths: list[Drawn] = []  # that may be letters
        self.rules: list[Rectangle] = []  # thin lines that do not stand upright, slanted ones too
        self.tiled: list[Rectangle] = []  # areas that may be filled with a pattern, which may be letters

    @property
    def last(self) -> int:
        """The number of texts painted before the last area of the scenery, which may cover them."""
        return self._areas[-1].last if self._areas else 0

    def has_like(self, colour: Colour) -> bool:
        """Whether anything on the page, wherever it is, is such that a text of a colour may be lost on it."""
        return any(other is None or near(colour, other) for other in self._colours)

    def add(self, item: int, kind: int, matrix: Matrix, texts: int) -> None:
        """Add an object that is no text, painted after so many texts."""
        filled, ruled = pdf.area_and_line(item) if kind == pdf.PATH else (True, False)
        if not filled and not ruled:
            return
        box = transformed(pdf.bounds_of(item), matrix)
        if letters := drawn(item, kind, box, matrix):
            self.paths.append(letters)
        wide, high = box[2] - box[0], box[3] - box[1]
        if (high < _RULE and wide > max(_THINNEST, 2 * high)) or (
            ruled and 2 * wide > high and kind == pdf.PATH and pdf.segments_of(item) == _LINE
        ):
            self.rules.append(box)
        if wide < _THINNEST or high < _THINNEST:
            last, self._line = self._line, box
            if last and _touch(last, box):  # lines that lie side by side count as soon as a text fits under them
                left, bottom, right, top = self._line = around([last, box])
                if right - left >= _THINNEST and top - bottom >= _THINNEST:
                    self.cover(self._line, texts)
        elif filled:
            if kind == pdf.IMAGE:
                self.images.append((item, box))
            fill = pdf.fill_of(item) if kind == pdf.PATH else None
            if fill and fill[:3] == TILED and wide >= _SIGN and len(self.tiled) < _FEW:
                self.tiled.append(box)
            self.cover(box, texts, fill[:3] if fill and fill[3] == 255 else None)
        elif pdf.line_width_of(item) * stretching(matrix) >= _THINNEST:
            self.cover(box, texts)

    def add_large(self, box: Rectangle, texts: int) -> None:
        """Add large letters, painted after so many texts; all areas are to be sorted afterwards."""
        if len(self._areas) < _MOST:
            self._rows |= self._band(box)
            self._areas.append(_Area(texts, texts, None, box, behind=False))

    def sort(self) -> None:
        """Put the areas in the order in which they are painted."""
        self._areas.sort(key=attrgetter("last"))

    def cover(self, box: Rectangle, texts: int, colour: Colour | None = None) -> None:
        """Add something that may be painted in a box, after so many texts."""
        self._rows |= self._band(box)
        if len(self._areas) == _MOST:
            last, colour = self._areas[-1], None
            last.last, last.more, last.colour = texts, last.more | self.cells(box), None
        else:
            self._areas.append(_Area(texts, texts, colour, box))
        self._colours.add(colour)

    def is_near(self, area: Rectangle) -> bool:
        """Whether an area may touch anything of the scenery: whether there is any at its height."""
        return bool(self._rows & self._band(area))

    def covers(self, text: Rectangle, place: int) -> bool:
        """Whether something may be painted over the text number `place`, after it."""
        if len(self._areas) <= _FEW:
            over = takewhile(lambda area: area.last > place, reversed(self._areas))
            return any(_overlap(text, area.box) for area in over)
        if self._later is None:
            cells = map(self._cells_of, reversed(self._areas))
            self._later = [*accumulate(cells, or_, initial=0)][::-1]
        while self._next_cover < len(self._areas) and self._areas[self._next_cover].last <= place:
            self._next_cover += 1
        return bool(self._later[self._next_cover] & self.cells(text))

    def resembles(self, text: Rectangle, place: int, colour: Colour) -> bool:
        """Whether the text number `place` of this colour may be lost on what was painted before it, or on the paper."""
        if near(colour, PAPER):
            return True
        if len(self._areas) > _FEW:
            cells = self.cells(text)
            painted = ((other, behind) for other, behind in self._painted(place).items() if behind & cells)
            return any(other is None or near(colour, other) for other, _ in painted)
        if colour not in self._alike:
            self._alike[colour] = [
                one for one in self._areas if one.behind and (one.colour is None or near(colour, one.colour))
            ]
        return any(area.first <= place and _overlap(text, area.box) for area in self._alike[colour])

    def is_bare(self, text: Rectangle, place: int) -> bool:
        """Whether only paper is behind the text number `place`."""
        cells = self.cells(text)
        return not any(painted & cells for painted in self._painted(place).values())

    def _painted(self, place: int) -> dict[Colour | None, int]:
        """The cells of each colour painted before the text number `place`."""
        while self._next < len(self._areas) and self._areas[self._next].first <= place:
            area = self._areas[self._next]
            if area.behind:
                self._behind[area.colour] = self._behind.get(area.colour, 0) | self._cells_of(area)
            self._next += 1
        return self._behind

    def _cells_of(self, area: _Area) -> int:
        return self.cells(area.box) | area.more

    def cells(self, box: Rectangle) -> int:
        """The cells that a box touches, a bit for each; at the edge, those that are nearest."""
        x0 = int(min(max(0.0, (box[0] - self._left) * self._across), _LAST))
        x1 = int(min(max(x0, (box[2] - self._left) * self._across), _LAST))
        y0 = int(min(max(0.0, (box[1] - self._bottom) * self._upwards), _LAST))
        y1 = int(min(max(y0, (box[3] - self._bottom) * self._upwards), _LAST))
        row = ((1 << (x1 - x0 + 1)) - 1) << x0
        return (row * _ROWS[y1 - y0 + 1]) << (_CELLS * y0)

    def cells_of(self, boxes: Iterable[Rectangle]) -> int:
        """The cells that any of the boxes touches."""
        return reduce(or_, map(self.cells, boxes), 0)

    def _band(self, box: Rectangle) -> int:
        low = (box[1] - self._bottom) * self._upwards
        high = (box[3] - self._bottom) * self._upwards
        y0 = int(low) if 0.0 < low < _CELLS else 0 if low <= 0.0 else _LAST
        y1 = int(high) if 0.0 < high < _CELLS else 0 if high <= 0.0 else _LAST
        return ((2 << (y1 - y0)) - 1) << y0 if y0 <= y1 else -1

    @property
    def areas(self) -> int:
        """The number of areas."""
        return len(self._areas)

    def share_of_images(self) -> float:
        """The part of the page on which there are pictures, 0 to 1."""
        return self.cells_of(box for _, box in self.images).bit_count() / _CELLS**2


def _overlap(text: Rectangle, box: Rectangle) -> bool:
    """Whether a text and a box overlap by more than where their edges touch."""
    return (
        text[0] < box[2] - _TOUCH
        and text[2] > box[0] + _TOUCH
        and text[1] < box[3] - _TOUCH
        and text[3] > box[1] + _TOUCH
    )


def _touch(one: Rectangle, other: Rectangle) -> bool:
    """Whether two lines lie side by side: along most of the shorter one, with hardly a gap between them."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    upwards = min(one[3], other[3]) - max(one[1], other[1])
    (width, height), (wide, high) = ((box[2] - box[0], box[3] - box[1]) for box in (one, other))
    if width >= height and wide >= high:
        return across >= min(width, wide) / 2 and upwards >= -_GAP
    return width < height and wide < high and upwards >= min(height, high) / 2 and across >= -_GAP


@lru_cache(4096)
def near(one: Colour, other: Colour) -> bool:
    """Whether a text in one of these colours cannot be read on the other one."""
    return alike(one, other)
