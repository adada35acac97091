"""A page as it looks, and marks on it: what a child is asked for, and what it answers."""

from dataclasses import dataclass
from typing import NamedTuple

MOST_PAGES = 20_000
"""Pages of a document whose sizes are told."""
MOST_PIXELS = 6_000_000
"""Pixels of a page that is drawn: A4 across 2,000 has 5.7 million."""
WIDEST = 2_000
"""Pixels across a page that is drawn."""
MOST_MARKS = 4_000
"""Marks of a document."""


class Stretch(NamedTuple):
    """The characters from `start` to `end` of a page's text; `number` is what they are called."""

    number: int
    start: int
    end: int


class PageText(NamedTuple):
    """The text of the page `number`, from 1, as the document's text has it, and the stretches that are looked for."""

    number: int
    text: str
    stretches: tuple[Stretch, ...]


class Mark(NamedTuple):
    """A rectangle on a page around characters of the stretch `number`: parts of its width and height, from 0 to 1,
    counted from the left and from the top."""

    number: int
    page: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Pages:
    """The sizes of a document's pages, across and down in a unit of its own, and the marks on them; `kind`: "pdf" or
    "picture"."""

    sizes: tuple[tuple[float, float], ...]
    marks: tuple[Mark, ...]
    kind: str = ""


@dataclass(frozen=True)
class Pixels:
    """A page that was drawn: red, green and blue of each pixel, row by row from the top."""

    width: int
    height: int
    rgb: bytes


def fitting(across: float, down: float, width: int) -> tuple[int, int]:
    """The pixels across and down at which a page of this size is drawn: `width` across, or fewer where these would be
    too many."""
    across, down = max(across, 0.1), max(down, 0.1)
    scale = min(min(width, WIDEST) / across, (MOST_PIXELS / (across * down)) ** 0.5)
    wide = max(1, round(across * scale))
    return wide, min(max(1, round(down * scale)), MOST_PIXELS // wide)
