"""What the lines mean that are drawn beside text: a word is struck out, or a number stands above another one."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from pipeline.parse.pdf.geometry import Rectangle

Line = tuple[float, float, float]
"""Where a text begins, and its height."""

_STRIKE = (0.12, 0.5)  # of the height between the foot of letters and a line through them
_LEVEL = 3.5  # points that a line rises which is not slanted
_SLANTED, _ACROSS = (0.05, 0.75), 1.7  # of it: between their foot and the middle of a slanted line; its rise at most
_SLASHES = {"/", "\u2044", "\u2215"}
_ALIKE = 0.1  # of the height by which letters on one line may differ in theirs
_SMALLER = 0.9  # times as high


def crossing(lines: Sequence[Line], rules: Sequence[Rectangle]) -> list[Rectangle]:
    """The drawn lines that cross the middle of letters."""
    if not rules:
        return []
    feet = sorted({(y, height) for _, y, height in lines if height})
    highest = max((height for _, height in feet), default=0.0)
    found = []
    for rule in rules:
        y = (rule[1] + rule[3]) / 2
        near = feet[bisect_left(feet, (y - highest,)) : bisect_right(feet, (y,))]
        if any(crosses(rule, foot, height) for foot, height in near):
            found.append(rule)
    return found


def crosses(rule: Rectangle, foot: float, height: float) -> bool:
    """Whether a line goes through the middle of letters, and is no long one that only comes by."""
    rise, y = rule[3] - rule[1], (rule[1] + rule[3]) / 2 - foot
    least, most = _STRIKE if rise <= _LEVEL else _SLANTED
    return least * height <= y <= most * height and rise <= _ACROSS * height


def is_for(rule: Rectangle, left: float, right: float) -> bool:
    """Whether a line is drawn for what stands between `left` and `right`: slanted ones of charts reach further."""
    return rule[3] - rule[1] <= _LEVEL or 2 * (right - left) >= rule[2] - rule[0]


def is_fraction(
    texts: Sequence[str], first: int, lines: Sequence[Line], boxes: Sequence[Rectangle], rules: Sequence[Rectangle]
) -> bool:
    """Whether texts, from number `first` on, are a number above and one below a line, or small ones before and after a
    slash, beside letters whose line is between the two."""
    above, *between, below = texts
    last = first + len(texts) - 1
    if not (above.strip().isdecimal() and below.strip().isdecimal()):
        return False
    (x0, y0, height), (x1, y1, other) = lines[first], lines[last]
    left, right = min(x0, x1), max(boxes[first][2], boxes[last][2])
    letters = [lines[first - 1]] if first and left - boxes[first - 1][2] < height else []
    letters += [one for one in lines[last + 1 : last + 2] if one[0] - right < height]
    letters += lines[first + 1 : last]
    if between:
        least = max(height, other) / _SMALLER
        on_line = any(high > least and y1 - _ALIKE * high <= y < y0 < y + high for _, y, high in letters)
        return on_line and between[0] in _SLASHES and x1 > x0
    return any(y1 < y < y0 < y + high and y - high < y1 for _, y, high in letters) and any(
        left <= (line[0] + line[2]) / 2 <= right
        and line[2] - line[0] < 2 * (right - left)
        and y1 < (line[1] + line[3]) / 2 <= y0 + _ALIKE * height
        and line[3] - line[1] < y0 + height - y1
        for line in rules
    )
