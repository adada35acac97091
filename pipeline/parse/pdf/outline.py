"""A document's bookmarks as headings: what they name, how deep they stand, and where on their page it begins."""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from pipeline.parse.pdf.binding import pointer, raw, string

_MOST = 20_001  # one more than a parsed document may have; then it says so
_DEEPEST = 50
_WORD = re.compile(r"\w+")
_SEARCHED = 12  # words of a title that are looked for


@dataclass(frozen=True)
class Bookmark:
    """A bookmark; level 1 is the highest."""

    title: str
    level: int


def bookmarks_of(document: Any) -> dict[int, list[Bookmark]]:
    """The bookmarks by page, from 0, in order; those that lead nowhere are left out, and loops end where they begin."""
    found: dict[int, list[Bookmark]] = defaultdict(list)
    waiting, met = [(raw.FPDFBookmark_GetFirstChild(document, None), 1)], set[int]()
    while waiting and len(met) < _MOST:  # depth first
        handle, level = waiting.pop()
        if not handle or (address := pointer(handle)) in met:
            continue
        met.add(address)
        title = string(partial(raw.FPDFBookmark_GetTitle, handle))
        target = raw.FPDFBookmark_GetDest(document, handle)
        page = raw.FPDFDest_GetDestPageIndex(document, target) if target else -1
        if page >= 0 and title.strip():
            found[page].append(Bookmark(title, level))
        waiting.append((raw.FPDFBookmark_GetNextSibling(document, handle), level))
        if level < _DEEPEST:
            waiting.append((raw.FPDFBookmark_GetFirstChild(document, handle), level + 1))
    return found


def placed(text: str, bookmarks: list[Bookmark]) -> list[tuple[int, Bookmark]]:
    """A page's bookmarks, each with the start of the line of text that it names, ascending; 0 where none does."""
    if not bookmarks:
        return []
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append((start, _words(line)))
        start += len(line) + 1
    return sorted(((_place(lines, _words(one.title)), one) for one in bookmarks), key=itemgetter(0))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _place(lines: list[tuple[int, list[str]]], title: list[str]) -> int:
    """The start of the line that begins with the title, or a number and the title, which may go on in later lines."""
    wanted = title[:_SEARCHED]
    for place, (start, words) in enumerate(lines):
        if words and wanted and wanted[0] in words[:3]:
            following = [word for _, more in lines[place : place + 4] for word in more]
            first = words.index(wanted[0])
            if following[first : first + len(wanted)] == wanted:
                return start
    return 0
