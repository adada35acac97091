"""Rectangles around characters that follow one another: one for each line, as a text marker leaves them."""

from collections.abc import Iterable

from pipeline.parse.pdf import geometry
from pipeline.parse.pdf.geometry import Rectangle

_ON_ONE_LINE = 0.4  # of the lower one's height that two characters have in common
_FAR = 6.0  # times their height by which characters of a line may stand apart
_NARROW = 2.0  # times a character's width that a line of letters one below another may have
_MOST = 200  # rectangles of one stretch


def around(boxes: Iterable[Rectangle], least: float, most: float) -> list[Rectangle]:
    """The rectangles, within `least` and `most` on both axes; what lies outside of these has none.

    They are upright lines, and those of letters that stand one below another. Sides are left, the lower value of the
    other axis, right, and the higher one.
    """
    lines: list[Rectangle] = []
    for box in boxes:
        if lines and (_goes_on(lines[-1], box) or _goes_down(lines[-1], box)):
            lines[-1] = geometry.around([lines[-1], box])
        else:
            lines.append(box)
    inside = []
    for line in lines:
        left, low, right, high = (min(max(side, least), most) if side == side else least for side in line)
        if left < right and low < high:
            inside.append((left, low, right, high))
    return inside[:_MOST]


def _goes_on(line: Rectangle, box: Rectangle) -> bool:
    """Whether a character is on a line, and not far from it."""
    height = min(line[3] - line[1], box[3] - box[1])
    common = min(line[3], box[3]) - max(line[1], box[1])
    apart = max(box[0] - line[2], line[0] - box[2])
    return common > _ON_ONE_LINE * height and apart < _FAR * max(height, box[3] - box[1])


def _goes_down(line: Rectangle, box: Rectangle) -> bool:
    """Whether a character stands right below or above a line that is no wider than it: letters one below another."""
    height = box[3] - box[1]
    apart = max(box[1] - line[3], line[1] - box[3])
    narrow = line[2] - line[0] < _NARROW * (box[2] - box[0])
    return narrow and apart < height / 2 and _goes_on(geometry.turned(line), geometry.turned(box))
