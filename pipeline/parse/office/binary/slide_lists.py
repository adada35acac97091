"""The numbers that PowerPoint 97-2003 draws before paragraphs ([MS-PPT] 2.9): "2.", "(b)".

How runs look stands beside the text; whether a paragraph is numbered, in an extension with an entry for each look. A
run of characters says which entry is its own; where none says so, the entries follow the runs of paragraphs.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.parse.office.numerals import drawn_number

_SCHEMES = (
    "alphaLcPeriod", "alphaUcPeriod", "arabicParenR", "arabicPeriod", "romanLcParenBoth", "romanLcParenR",
    "romanLcPeriod", "romanUcPeriod", "alphaLcParenBoth", "alphaLcParenR", "alphaUcParenBoth", "alphaUcParenR",
    "arabicParenBoth", "arabicPlain", "romanUcParenBoth", "romanUcParenR",
)  # fmt: skip
_USUAL, _DEEPEST = 3, 8
# By bits of a mask the bytes of what is there, in the order of the fields; any of the bits suffices.
_PARAGRAPH = ((0xF, 2), (0x80, 2), (0x10, 2), (0x40, 2), (0x20, 4), (0x800, 2), (0x1000, 2), (0x2000, 2), (0x4000, 2),
              (0x100, 2), (0x400, 2), (0x8000, 2))  # fmt: skip
_TABS, _BEHIND_TABS = 0x100000, ((0x10000, 2), (0xE0000, 2), (0x200000, 2))
_FONT_STYLE = 0x3EB7
_FONT, _POSITION = 0x10000, 0x80000
_CHARACTERS = ((0x200000, 2), (0x400000, 2), (0x800000, 2), (0x20000, 2), (0x40000, 4))
_BLIP, _HAS_SCHEME, _SCHEME, _RUN = 0x00800000, 0x02000000, 0x01000000, 0x100000
_LANGUAGE, _SMART = ((0x1, 2), (0x2, 2), (0x4, 2), (0x20, 4), (0x40, 2)), 0x200
_Number = tuple[str, int]  # scheme and first number


class _Bytes:
    """Numbers as they follow one another; zeros where the data end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, size: int) -> int:
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def skip(self, mask: int, fields: tuple[tuple[int, int], ...]) -> None:
        self.at += sum(size for bits, size in fields if mask & bits)

    def skip_counted(self, size: int) -> None:
        """Skip fields of four bytes behind their count."""
        count = self.number(size)
        self.at += 4 * count

    @property
    def ended(self) -> bool:
        return self.at >= len(self.data)


class Run(NamedTuple):
    """A run of characters: where it ends, which entry is its own, its font (-1: none said), its place in percent."""

    end: int
    entry: int
    font: int
    moved: int


def labels(text: str, looks: bytes, extended: bytes) -> list[str]:
    """The label of each paragraph of a text (they end in "\\r") with a space after it, or ""; [] if none has one."""
    entries = list(_entries(_Bytes(extended)))
    if not any(entries):
        return []
    paragraphs, runs = _looks(looks, len(text))
    said = any(run.entry for run in runs)
    ends, run_ends = [end for end, _ in paragraphs], [run.end for run in runs]
    found, at, counts = list[str](), 0, dict[int, int]()
    for paragraph in text.split("\r"):
        run, character = bisect_right(ends, at), bisect_right(run_ends, at)
        level = min(paragraphs[run][1], _DEEPEST) if run < len(paragraphs) else 0
        place = run if not said else runs[character].entry if character < len(runs) else len(entries)
        entry = entries[place] if place < len(entries) and paragraph.strip() else None
        counts = {deep: count for deep, count in counts.items() if deep < level + bool(entry)}
        if entry:
            counts[level] = counts.get(level, entry[1] - 1) + 1
        found.append(drawn_number(entry[0], counts[level]) if entry else "")
        at += len(paragraph) + 1
    return found


def runs_of(looks: bytes, length: int) -> list[Run]:
    """The runs of characters of a text of so many characters."""
    return _looks(looks, length)[1]


def _looks(looks: bytes, length: int) -> tuple[list[tuple[int, int]], list[Run]]:
    """The runs of paragraphs of a text, each with its end and its level, and its runs of characters."""
    data, paragraphs, runs, end = _Bytes(looks), list[tuple[int, int]](), list[Run](), 0
    while end <= length and not data.ended:
        end += data.number(4)
        level, mask = data.number(2), data.number(4)
        data.skip(mask, _PARAGRAPH)
        if mask & _TABS:
            data.skip_counted(2)
        data.skip(mask, _BEHIND_TABS)
        paragraphs.append((end, level))
    end = 0
    while end <= length and not data.ended:
        end += data.number(4)
        mask = data.number(4)
        style = data.number(2) if mask & _FONT_STYLE else 0
        font = data.number(2) if mask & _FONT else -1
        data.skip(mask, _CHARACTERS)
        moved = data.number(2) if mask & _POSITION else 0
        runs.append(Run(end, style >> 10 & 0xF, font, (moved ^ 0x8000) - 0x8000))
    return paragraphs, runs


def _entries(data: _Bytes) -> Iterator[_Number | None]:
    """The scheme and the first number that each look draws before its paragraphs; None for a look without numbers."""
    while not data.ended:
        mask = data.number(4)
        data.skip(mask, ((_BLIP, 2),))
        numbered = mask & _HAS_SCHEME and data.number(2)
        scheme, start = (data.number(2), data.number(2)) if mask & _SCHEME else (_USUAL, 1)
        data.skip(data.number(4), ((_RUN, 4),))
        language = data.number(4)
        data.skip(language, _LANGUAGE)
        if language & _SMART:
            data.skip_counted(4)
        yield (_SCHEMES[min(scheme, len(_SCHEMES) - 1)], start) if numbered else None
