"""Find letters that are drawn as lines and areas, not as text: a page may show a contract of which it has no word.

Letters stand in rows: small shapes of several sizes on one line, a little apart. Charts, logos, maps and tables have
few such rows. Only paths with more parts than a box are looked at, so that a page of rules and bars costs nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from statistics import median

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.geometry import Matrix, Rectangle, around, common, transformed, turned, wider
from pipeline.parse.pdf.runs import runs

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
    along = _rows(letters) or [Written(turned(row.box), row.letters) for row in _rows(map(turned, letters))]
    rows = [row for row in along if sum(common(row.box, text) for text in texts) < _EXPLAINED]
    found: list[Written] = []
    for row in sorted(rows, key=lambda row: -row.box[3]):
        near = next((one for one in found if _joins(one.box, row.box)), None)
        if near:
            found.remove(near)
            row = Written(around([near.box, row.box]), near.letters + row.letters)
        found.append(row)
    return [Written(wider(one.box, _MARGIN), one.letters) for one in found if one.letters >= _FEW]


def _letters(paths: Sequence[Drawn]) -> Iterator[Rectangle]:
    left = _MOST
    for path in paths:
        boxes = [path.box]
        if (path.bordered or path.segments > _LETTER) and path.segments <= left:
            left -= path.segments
            parts = pdf.parts_of(path.item, _BOX, borders=path.bordered)
            boxes = [transformed(box, path.matrix) for box in parts]
        for box in boxes:
            low, high = sorted((box[2] - box[0], box[3] - box[1]))
            if _LOW <= high <= _HIGH and high <= _WIDE * low:
                yield box


def _rows(letters: Iterable[Rectangle]) -> list[Written]:
    """The rows of letters, at one height and side by side, that are writing.

    Their shapes differ in size, and but few lie over one another, as the inner line of an "o" does.
    """
    lines: list[list[Rectangle]] = []
    for box in sorted(letters, key=itemgetter(1)):
        near = next((line for line in reversed(lines[-4:]) if box[1] - line[0][1] < (box[3] - box[1]) / 2), None)
        if near is None:
            lines.append([box])
        else:
            near.append(box)
    found = []
    for line in lines:
        for run in _side_by_side(line):
            sizes = {(round(one[2] - one[0], 1), round(one[3] - one[1], 1)) for one in run}
            piled = sum(other[0] < (one[0] + one[2]) / 2 for one, other in pairwise(run))
            if len(run) >= _ROW and len(sizes) >= _SIZES and piled <= _PILED * len(run):
                found.append(Written(around(run), len(run)))
    return found


def _side_by_side(line: list[Rectangle]) -> list[list[Rectangle]]:
    gap = _GAP * median(box[3] - box[1] for box in line)
    return runs(sorted(line), lambda run, box: not box[0] - max(one[2] for one in run[-3:]) > gap)


def _joins(above: Rectangle, below: Rectangle) -> bool:
    high = below[3] - below[1]
    return above[1] - below[3] <= _APART * high and above[0] <= below[2] + high and below[0] <= above[2] + high
