"""The view of a document: its pages as drawings with marks, or a window of its text; the links to its evidence; and its
story in words, from the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pipeline

PAGES: Final = 12
"""Pages that are shown at once."""
_DID = {"accepted": "accepted the answer", "corrected": "corrected the answer", "rejected": "rejected the answer"}
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
    blocks: tuple[pipeline.view.Block, ...] = ()
    first: int = 1
    count: int = 1


def view_of(viewed: pipeline.view.Viewed, kind: str, first: int) -> View:
    """The view of a document that is asked for: of pages from `first` on, or the window `first` of its text."""
    windows = pipeline.view.windows_of(viewed.text)
    if kind == "text" or not viewed.sizes:
        first = max(1, min(first, len(windows)))
        marked = pipeline.view.Marked(viewed.text, viewed.places, viewed.hidden, viewed.page_starts, viewed.sections)
        blocks = tuple(pipeline.view.blocks_of(marked, *windows[first - 1]))
        return View("text", _links(viewed, windows, "text", first), blocks=blocks, first=first, count=len(windows))
    first = max(1, min(first, len(viewed.sizes)))
    first -= (first - 1) % PAGES
    links = _links(viewed, windows, "page", first)
    return View("page", links, tuple(_sheets(viewed, first)), first=first, count=len(viewed.sizes))


def _sheets(viewed: pipeline.view.Viewed, first: int) -> Iterator[Sheet]:
    marks: dict[int, dict[int, list[pipeline.parse.Mark]]] = {}
    for mark in viewed.marks:
        marks.setdefault(mark.page, {}).setdefault(mark.number, []).append(mark)
    for number in range(first, min(first + PAGES, len(viewed.sizes) + 1)):
        across, down = viewed.sizes[number - 1]
        height = round(_ACROSS * min(max(down, 1.0) / max(across, 1.0), 20.0))
        its = {name: tuple(_rectangle(mark, height) for mark in some) for name, some in marks.get(number, {}).items()}
        yield Sheet(number, _ACROSS, height, its)


def _rectangle(mark: pipeline.parse.Mark, height: int) -> Rectangle:
    x, y = _ACROSS * mark.left, height * mark.top
    return Rectangle(round(x, 1), round(y, 1), round(_ACROSS * mark.right - x, 1), round(height * mark.bottom - y, 1))


def _links(viewed: pipeline.view.Viewed, windows: list[tuple[int, int]], kind: str, shown: int) -> dict[int, str]:
    """The address of each place, from the view that is shown: on its page where it is marked, else in the text."""
    pages: dict[int, int] = {}
    for mark in viewed.marks:
        pages.setdefault(mark.number, mark.page)
    links = {}
    for place in viewed.places:
        if kind == "page" and place.number in pages:
            at = pages[place.number]
            at -= (at - 1) % PAGES
            links[place.number] = "" if at == shown else f"view=page&first={at}"
        else:
            at = pipeline.view.window_at(windows, place.start) + 1
            links[place.number] = "" if kind == "text" and at == shown else f"view=text&first={at}"
    return links


@dataclass(frozen=True)
class Told:
    """An entry of the log in words: `what` happened, and `facts` with their names."""

    n: int
    time: str
    who: str
    what: str
    facts: tuple[tuple[str, str], ...] = ()
    is_row: bool = False


def tell(story: pipeline.proof.Story, answers: Mapping[int, str]) -> Iterator[Told]:
    """Tell each entry of a story; `answers` has the short answers of rows, by their entries."""
    for entry in story.entries:
        if isinstance(entry, pipeline.records.Document):
            yield _row(entry, answers.get(entry.n, ""), entry.part in story.placed)
        else:
            what = pipeline.records.meaning(entry.type) or f"{entry.type}, which this version does not know"
            yield Told(entry.n, entry.time, _who(entry), what, tuple(pipeline.proof.members_in_words(entry.said)))


def _row(entry: pipeline.records.Document, answer: str, placed: bool) -> Told:
    review = entry.said.get("review")
    gone = entry.replaces if entry.replaces is not None else (entry.supersedes,) if entry.supersedes is not None else ()
    facts = [
        ("path", entry.path),
        ("answer", answer),
        ("reason", (review or {}).get("reason") or entry.reason or ""),
        ("took the place of", ", ".join(f"entry {number}" for number in gone)),
        ("model", f"{entry.model}, sha256 {entry.model_sha256}"),
        ("settings", f"job digest {entry.job_digest}"),
        ("read by", entry.parser or ""),
        ("result", f"sha256 {entry.result_sha256}"),
        ("row", f"{entry.row} of {entry.part}" + ("" if placed else " (not yet in place: the next run ends that)")),
        ("files", ", ".join(made.file for made in entry.made_files)),
    ]
    if review:
        what = f"{review.get('by')} {_DID.get(str(review.get('action')), 'decided')} of entry {review.get('of')}"
    else:
        what = f"{entry.job} made its row: {entry.state}" + (f" ({entry.failure})" if entry.failure else "")
    return Told(entry.n, entry.time, _who(entry), what, tuple(fact for fact in facts if fact[1]), is_row=True)


def _who(entry: pipeline.records.Record) -> str:
    made = entry.handed
    told = f"{made.user} on {made.host}, taken up later" if made else f"{entry.user} on {entry.host}"
    return f"{told}, run {entry.run}" if entry.run else told
