"""Boxes and matrices of a page, in points. Numbers come from the document: they may be huge, or no numbers at all."""

from collections.abc import Iterable

Rectangle = tuple[float, float, float, float]  # left, bottom, right, top
Matrix = tuple[float, float, float, float, float, float] | None  # None: nothing is moved
IDENTITY = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
MARGIN = 1.0  # points by which a text may stick out of a box that it is within


def around(boxes: Iterable[Rectangle]) -> Rectangle:
    """The box around boxes, of which there is one at least."""
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)


def around_points(points: Iterable[tuple[float, float]]) -> Rectangle:
    """The box around points, of which there is one at least."""
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def wider(box: Rectangle, margin: float) -> Rectangle:
    """A box with a margin on each side."""
    return box[0] - margin, box[1] - margin, box[2] + margin, box[3] + margin


def turned(box: Rectangle) -> Rectangle:
    """A box with its axes exchanged."""
    return box[1], box[0], box[3], box[2]


def transformed(box: Rectangle, matrix: Matrix) -> Rectangle:
    """The box around a box that a matrix has moved."""
    if matrix is None:
        return box
    a, b, c, d, e, f = matrix
    if b == 0.0 == c and a > 0.0 < d:
        return a * box[0] + e, d * box[1] + f, a * box[2] + e, d * box[3] + f
    return around_points((a * x + c * y + e, b * x + d * y + f) for x in (box[0], box[2]) for y in (box[1], box[3]))


def times(inner: tuple[float, float, float, float, float, float], outer: Matrix) -> Matrix:
    """The matrix that moves first by `inner`, then by `outer`."""
    if outer is None:
        return None if inner == IDENTITY else inner
    a, b, c, d, e, f = inner
    p, q, r, s, t, u = outer
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u


def shrinking(matrix: Matrix) -> float:
    """The factor by which a matrix makes a length smaller, at most."""
    if matrix is None:
        return 1.0
    a, b, c, d, _, _ = matrix
    side: float = min(a * a + b * b, c * c + d * d) ** 0.5
    return side


def stretching(matrix: Matrix) -> float:
    """The factor by which a matrix makes a step to a side and upwards larger, at most."""
    if matrix is None:
        return 1.0
    a, b, c, d, _, _ = matrix
    return max(abs(a) + abs(c), abs(b) + abs(d))


def before(box: Rectangle, matrix: Matrix) -> Rectangle | None:
    """The box that a matrix moves to `box`; None where it turns or mirrors what it moves."""
    if matrix is None:
        return box
    a, b, c, d, e, f = matrix
    if not (b == 0.0 == c and a > 0.0 < d):
        return None
    return (box[0] - e) / a, (box[1] - f) / d, (box[2] - e) / a, (box[3] - f) / d


def within(area: Rectangle, box: Rectangle) -> bool:
    """Whether an area lies in a box, but for what nobody would notice."""
    return (
        area[0] >= box[0] - MARGIN
        and area[1] >= box[1] - MARGIN
        and area[2] <= box[2] + MARGIN
        and area[3] <= box[3] + MARGIN
    )


def common(area: Rectangle, box: Rectangle) -> float:
    """The part of an area that lies in a box, 0 to 1; of an area without width or height, whether its middle does."""
    width, height = area[2] - area[0], area[3] - area[1]
    across = min(area[2], box[2]) - max(area[0], box[0])
    upwards = min(area[3], box[3]) - max(area[1], box[1])
    if width > 0 and height > 0:
        return max(0.0, across) * max(0.0, upwards) / (width * height)
    x, y = (area[0] + area[2]) / 2, (area[1] + area[3]) / 2
    return float(box[0] <= x <= box[2] and box[1] <= y <= box[3])
