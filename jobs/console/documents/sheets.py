"""The view of a document: its pages as drawings with marks, or a window of its text; and the links to its evidence."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pipeline

PAGES: Final = 12
"""Pages that are shown at once."""
_ACROSS: Final = 1000  # units of a drawing's width, in which marks are placed


@dataclass(frozen=True)
class Rectangle:
    """A part of a page, in units of its drawing."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Sheet:
    """A page and the marks on it, by the number of their place."""

    number: int
    width: int
    height: int
    marks: Mapping[int, tuple[Rectangle, ...]]


@dataclass(frozen=True)
class View:
    """Holds what is shown of a document. `kind` is "page" or "text". `sheets` and `first` are of the former, `blocks`
    and `window` of the latter, which both count from 1; `count` is how many pages or windows there are. `links` lead to
    each place of the evidence, by number."""

    kind: str
    links: Mapping[int, str]
    sheets: tuple[Sheet, ...] = ()
    blocks: tuple[pipeline.Block, ...] = ()
    first: int = 1
    count: int = 1


def view_of(viewed: pipeline.Viewed, kind: str, first: int) -> View:
    """The view of a document that is asked for: of pages from `first` on, or the window `first` of its text."""
    if kind == "text" or not viewed.sizes:
        return _of_text(viewed, first)
    first = max(1, min(first, len(viewed.sizes)))
    first -= (first - 1) % PAGES
    sheets = tuple(_sheets(viewed, first))
    return View("page", _links(viewed, "page", first), sheets, first=first, count=len(viewed.sizes))


def _of_text(viewed: pipeline.Viewed, window: int) -> View:
    windows = pipeline.windows_of(viewed.text)
    window = max(1, min(window, len(windows)))
    start, end = windows[window - 1]
    marked = pipeline.Marked(viewed.text, viewed.places, viewed.hidden, viewed.page_starts, viewed.sections)
    blocks = tuple(pipeline.blocks_of(marked, start, end))
    return View("text", _links(viewed, "text", window), blocks=blocks, first=window, count=len(windows))


def _sheets(viewed: pipeline.Viewed, first: int) -> Iterator[Sheet]:
    marks: dict[int, dict[int, list[pipeline.Mark]]] = {}
    for mark in viewed.marks:
        marks.setdefault(mark.page, {}).setdefault(mark.number, []).append(mark)
    for number in range(first, min(first + PAGES, len(viewed.sizes) + 1)):
        across, down = viewed.sizes[number - 1]
        height = round(_ACROSS * min(max(down, 1.0) / max(across, 1.0), 20.0))
        its = {name: tuple(_rectangle(mark, height) for mark in some) for name, some in marks.get(number, {}).items()}
        yield Sheet(number, _ACROSS, height, its)


def _rectangle(mark: pipeline.Mark, height: int) -> Rectangle:
    x, y = _ACROSS * mark.left, height * mark.top
    return Rectangle(round(x, 1), round(y, 1), round(_ACROSS * mark.right - x, 1), round(height * mark.bottom - y, 1))


def _links(viewed: pipeline.Viewed, kind: str, shown: int) -> dict[int, str]:
    """The address of each place, from the view that is shown: on its page where it is marked, else in the text."""
    pages: dict[int, int] = {}
    for mark in viewed.marks:
        pages.setdefault(mark.number, mark.page)
    windows = pipeline.windows_of(viewed.text)
    links = {}
    for place in viewed.places:
        if kind == "page" and place.number in pages:
            at = pages[place.number]
            at -= (at - 1) % PAGES
            links[place.number] = "" if at == shown else f"view=page&first={at}"
        else:
            at = pipeline.window_at(windows, place.start) + 1
            links[place.number] = "" if kind == "text" and at == shown else f"view=text&first={at}"
    return links
