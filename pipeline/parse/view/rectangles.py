"""Rectangles around characters that follow one another: one for each line, as a text marker leaves them."""

from collections.abc import Iterable, Iterator

from pipeline.parse.pdf.geometry import Rectangle

_ON_ONE_LINE = 0.4  # of the lower one's height that two characters have in common
_FAR = 6.0  # times their height by which characters of a line may stand apart
_NARROW = 2.0  # times a character's width that a line of letters one below another may have
_MOST = 200  # rectangles of one stretch


def around(boxes: Iterable[Rectangle], least: float, most: float) -> list[Rectangle]:
    """The rectangles, within `least` and `most` on both axes; what lies outside of these has none.

    Sides are left, the lower value of the other axis, right, and the higher one.
    """
    inside = (_within(line, least, most) for line in _lines(boxes))
    return [line for line in inside if line[0] < line[2] and line[1] < line[3]][:_MOST]


def _lines(boxes: Iterable[Rectangle]) -> Iterator[Rectangle]:
    """Upright lines, and those of letters that stand one below another."""
    line: Rectangle | None = None
    for box in boxes:
        if line is not None and (_goes_on(line, box) or _goes_down(line, box)):
            line = min(line[0], box[0]), min(line[1], box[1]), max(line[2], box[2]), max(line[3], box[3])
            continue
        if line is not None:
            yield line
        line = box
    if line is not None:
        yield line


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
    return narrow and apart < height / 2 and _goes_on(_turned(line), _turned(box))


def _turned(box: Rectangle) -> Rectangle:
    return box[1], box[0], box[3], box[2]


def _within(box: Rectangle, least: float, most: float) -> Rectangle:
    left, low, right, high = (min(max(side, least), most) if side == side else least for side in box)
    return left, low, right, high
