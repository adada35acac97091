"""Find letters that are drawn as lines and areas, not as text: a page may show a contract of which it has no word.

Letters stand in rows: small shapes of several sizes on one line, a little apart. Charts, logos, maps and tables have
few such rows. Only paths with more parts than a box are looked at, so that a page of rules and bars costs nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.geometry import Matrix, Rectangle, common, transformed

_BOX = 5  # segments of a box
_LETTER = 120  # segments of a path that may be one letter; longer ones are taken apart
_MOST = 200_000  # segments of a page that are taken apart
_LOW, _HIGH = 2.5, 72.0  # points
_WIDE = 3.0  # times as wide as high
_ROW, _GAP = 6, 1.2  # letters of a row; gaps between them by their height
_SIZES = 3  # different ones in a row: the marks of a chart are all alike
_PILED = 0.4  # of a row that may lie over its neighbour
_APART = 3.0  # heights between rows of one region
_EXPLAINED = 0.5  # of a row that is text besides
_MARGIN = 8.0  # points around what is recognised
_FEW = 12  # letters of a page that are looked at


@dataclass(frozen=True)
class Drawn:
    """A path that may be letters, or an area within such borders: its number of segments, the box around it on the
    page, and the matrix from its space to the page."""

    item: int
    segments: int
    box: Rectangle
    matrix: Matrix
    bordered: bool = False


@dataclass(frozen=True)
class Written:
    """A part of a page on which so many letters are drawn."""

    box: Rectangle
    letters: int


def drawn(item: int, kind: int, box: Rectangle, matrix: Matrix) -> Drawn | None:
    """A path, or an area or shading within borders, if it has segments enough to be a letter or several."""
    segments = pdf.segments_of(item) if kind == pdf.PATH else 0
    if segments > _BOX:
        return Drawn(item, segments, box, matrix)
    if box[3] - box[1] < _LOW or (segments := pdf.segments_of_borders(item)) <= _FEW * _BOX:
        return None
    return Drawn(item, segments, box, matrix, bordered=True)


def written(paths: Sequence[Drawn], texts: Sequence[Rectangle]) -> list[Written]:
    """The parts of a page that show letters among these paths, where no text of these boxes stands."""
    if sum(one.segments for one in paths) < _FEW * _BOX:
        return []
    letters = list(_letters(paths))
    along = [*_rows(letters)] or [Written(_turned(row.box), row.letters) for row in _rows(map(_turned, letters))]
    rows = [row for row in along if not _is_explained(row, texts)]
    found: list[Written] = []
    for row in sorted(rows, key=lambda row: -row.box[3]):
        near = next((one for one in found if _joins(one.box, row.box)), None)
        if near:
            found.remove(near)
            row = Written(_around([near.box, row.box]), near.letters + row.letters)
        found.append(row)
    return [Written(_wider(one.box), one.letters) for one in found if one.letters >= _FEW]


def _wider(box: Rectangle) -> Rectangle:
    """A box with room for full stops and what else is no letter."""
    return box[0] - _MARGIN, box[1] - _MARGIN, box[2] + _MARGIN, box[3] + _MARGIN


def _letters(paths: Sequence[Drawn]) -> Iterator[Rectangle]:
    left = _MOST
    for path in paths:
        boxes = [path.box]
        if (path.bordered or path.segments > _LETTER) and path.segments <= left:
            left -= path.segments
            parts = pdf.parts_of_borders if path.bordered else pdf.parts_of
            boxes = [transformed(box, path.matrix) for box in parts(path.item, _BOX)]
        for box in boxes:
            width, height = box[2] - box[0], box[3] - box[1]
            low, high = sorted((width, height))
            if _LOW <= high <= _HIGH and high <= _WIDE * low:
                yield box


def _rows(letters: Iterable[Rectangle]) -> Iterator[Written]:
    """The rows of letters: at one height, side by side."""
    lines: list[list[Rectangle]] = []
    for box in sorted(letters, key=_bottom):
        near = next((line for line in reversed(lines[-4:]) if box[1] - line[0][1] < (box[3] - box[1]) / 2), None)
        if near is None:
            lines.append([box])
        else:
            near.append(box)
    for line in lines:
        yield from _runs(sorted(line))


def _turned(box: Rectangle) -> Rectangle:
    return box[1], box[0], box[3], box[2]


def _bottom(box: Rectangle) -> float:
    return box[1]


def _runs(line: Sequence[Rectangle]) -> Iterator[Written]:
    height = median(box[3] - box[1] for box in line)
    run: list[Rectangle] = []
    for box in [*line, None]:
        if box is None or (run and box[0] - max(one[2] for one in run[-3:]) > _GAP * height):
            if len(run) >= _ROW and _is_writing(run):
                yield Written(_around(run), len(run))
            run = []
        if box is not None:
            run.append(box)


def _is_writing(run: Sequence[Rectangle]) -> bool:
    """Whether shapes differ in size, and but few lie over one another, as the inner line of an "o" does."""
    sizes = {(round(one[2] - one[0], 1), round(one[3] - one[1], 1)) for one in run}
    piled = sum(other[0] < (one[0] + one[2]) / 2 for one, other in pairwise(run))
    return len(sizes) >= _SIZES and piled <= _PILED * len(run)


def _is_explained(row: Written, texts: Sequence[Rectangle]) -> bool:
    return sum(common(row.box, text) for text in texts) >= _EXPLAINED


def _joins(above: Rectangle, below: Rectangle) -> bool:
    high = below[3] - below[1]
    return above[1] - below[3] <= _APART * high and above[0] <= below[2] + high and below[0] <= above[2] + high


def _around(boxes: Sequence[Rectangle]) -> Rectangle:
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)
