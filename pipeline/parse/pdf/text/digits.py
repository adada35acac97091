"""Whether the digits of a page are drawn as the digits that they are read as: an amount hangs on them.

The outline of each is compared with those of typefaces that pdfium brings along, as a grid of how much of each cell is
filled. Where a font has no outlines (Type 3), or two signs for one digit, the page itself is looked at.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import islice, pairwise

from pipeline.parse.pdf.binding import pointer, raw
from pipeline.parse.pdf.geometry import Rectangle, around_points
from pipeline.parse.pdf.text.letters import font_of, is_type_3, outline_of, start_of
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.pdf.text.said import Said, name_of

_DIGIT = re.compile("[0-9]")
_TYPEFACES = (b"Helvetica", b"Helvetica-Bold", b"Times-Roman", b"Times-BoldItalic", b"Courier")
_ROWS, _COLUMNS = 10, 8
_SURE = 0.75  # likeness to a digit that is drawn
_CLEARLY = 0.25  # by which it is more like this than like the digit that is read
_MOST = 1000  # digits of a page that are looked at singly
_KEPT = 10_000  # outlines whose judgement is kept
_EMPTY = (0,)
_ALL = "0123456789"
_INK = 96  # of 255 by which a sign differs from what is behind it

Contours = Sequence[Sequence[tuple[float, float]]]
Grid = tuple[float, ...]
Draw = Callable[[Rectangle], bytes]


class Digits:
    """The judgement on the digits of one document, of each font once; but those of fonts of which there may be several
    of one name, or of which a digit has several signs, each time."""

    def __init__(self, said: Said) -> None:
        self._said = said
        self._known: dict[str, frozenset[str]] = {}

    def are_others(self, page: Page, fonts: Iterable[int], texts: Sequence[int], draw: Draw) -> bool:
        """Whether a digit of a page is drawn as another one; its text is loaded.

        `fonts` are those of its `texts`; `draw` gives an area of the page as a PGM file.
        """
        doubtful: dict[int, frozenset[str]] = {}
        for font in fonts:
            name = name_of(font)
            if name not in self._known or name in self._said.several:
                every = name in self._said.twice or is_type_3(font)
                self._known[name] = frozenset(_ALL if every else (one for one in _ALL if _is_doubtful(font, one)))
            if font and self._known[name]:
                doubtful[font] = self._known[name]
        if not doubtful:
            return False
        of_texts = dict(zip(texts, map(font_of, texts), strict=True))
        asked = (
            match
            for match in _DIGIT.finditer(page.text())
            if match[0] in doubtful.get(of_texts.get(page.item_at(match.start()), 0), ())
        )
        for match in islice(asked, _MOST):
            grid = _grid_of_picture(draw(page.box_at(match.start())))
            if grid is None or _is_unlike(match[0], grid):
                return True
        return False


def _is_doubtful(font: int, digit: str) -> bool:
    """Whether a font has nothing, or the outline of another digit, for one; judged once for all fonts that share it."""
    mark = digit, start_of(font, digit)
    if mark not in _judged:
        contours = outline_of(font, digit)
        grid = _grid(contours) if contours else None
        _judged[mark] = mark[1] == _EMPTY if grid is None else _is_unlike(digit, grid)
        if len(_judged) > _KEPT:
            _judged.pop(next(iter(_judged)))
    return _judged[mark]


def _is_unlike(digit: str, grid: Grid) -> bool:
    alike = {one: max(sum(map(float.__mul__, grid, other)) for other in grids) for one, grids in _drawn().items()}
    best = max(alike.values())
    return best >= _SURE and best - alike[digit] >= _CLEARLY


@cache
def _drawn() -> dict[str, list[Grid]]:
    """The grids of each digit in the typefaces that pdfium brings along."""
    document = raw.FPDF_CreateNewDocument()
    fonts = [raw.FPDFText_LoadStandardFont(document, name) for name in _TYPEFACES]
    found = {digit: [grid for font in fonts if (grid := _grid(outline_of(pointer(font), digit)))] for digit in _ALL}
    for font in fonts:
        raw.FPDFFont_Close(font)
    raw.FPDF_CloseDocument(document)
    return found


def _grid(contours: Contours) -> Grid | None:
    """How much of each cell of a grid over its box a sign fills, about the mean, of length 1; None for no sign."""
    points = [point for contour in contours for point in contour]
    left, bottom, right, top = around_points(points) if points else (0.0, 0.0, 0.0, 0.0)
    if right <= left or top <= bottom:
        return None
    edges = [edge for contour in contours for edge in zip(contour, (*contour[1:], contour[0]), strict=True)]
    cells, scale = [0.0] * (_ROWS * _COLUMNS), _COLUMNS / (right - left)
    for row in range(_ROWS):
        y = bottom + (top - bottom) * (row + 0.5) / _ROWS
        crossings = sorted(
            ((x0 + (x1 - x0) * (y - y0) / (y1 - y0) - left) * scale, 1 if y1 > y0 else -1)
            for (x0, y0), (x1, y1) in edges
            if (y0 <= y) != (y1 <= y)
        )
        turns = 0
        for (start, turn), (end, _) in pairwise(crossings):
            turns += turn
            for cell in range(int(start), min(_COLUMNS, int(end) + 1)) if turns else ():
                cells[row * _COLUMNS + cell] += max(0.0, min(cell + 1, end) - max(cell, start))
    return _levelled(cells)


def _levelled(cells: Sequence[float]) -> Grid | None:
    mean = sum(cells) / len(cells)
    length = sum((cell - mean) ** 2 for cell in cells) ** 0.5
    return tuple((cell - mean) / length for cell in cells) if length > 0 else None


def _grid_of_picture(pgm: bytes) -> Grid | None:
    """The grid of the sign that a picture shows, dark on light or light on dark."""
    _, size, _, pixels = pgm.split(b"\n", 3)
    width, height = map(int, size.split())
    ground = max(pixels[:width], key=pixels[:width].count) if pixels else 0
    ink = [[abs(one - ground) for one in pixels[row * width : (row + 1) * width]] for row in range(height)]
    rows = [row for row, line in enumerate(ink) if max(line) > _INK]
    columns = [column for column in range(width) if any(line[column] > _INK for line in ink)]
    if not rows or not columns:
        return None
    top, high, left, wide = rows[0], rows[-1] + 1 - rows[0], columns[0], columns[-1] + 1 - columns[0]
    cells: list[list[int]] = [[] for _ in range(_ROWS * _COLUMNS)]
    for y in range(high):
        start = (_ROWS - 1 - y * _ROWS // high) * _COLUMNS
        for x in range(wide):
            cells[start + x * _COLUMNS // wide].append(ink[top + y][left + x])
    return _levelled([sum(cell) / max(1, len(cell)) for cell in cells])


_judged: dict[tuple[str, tuple[float, ...]], bool] = {}
