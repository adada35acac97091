"""The plan of a document: chunks by a budget of tokens, cut along its structure, that cover its text exactly.

Pages, sheets, slides and sections are never joined. Within one, neighbours are joined up to the budget and parted where
the text parts best: at an empty line, else at the end of a line, else between sentences (what is longer than the budget
`fitting` has cut: at a clause, a space or anywhere).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import Final

from pipeline.document import Parsed, Span
from pipeline.text.fitting import TokenCounter, fitting
from pipeline.text.sentences import trimmed

MOST_BORDERS: Final = 20_000  # of more pages and sections, the deepest levels are no borders
_BATCH: Final = 10_000  # units that are joined at a time: memory stays flat


@dataclass(frozen=True)
class Chunk:
    """text[start:end], of which the model reads `tokens`, special ones included, as `passages` texts one by one.

    Chunks follow one another without a gap. The first text begins at `context_start`: before `start` where a sentence
    was cut and the task needs what stands before the cut, else at `start`. White space is not read.
    """

    start: int
    end: int
    tokens: int
    passages: int
    context_start: int


def plan(document: Parsed, passages: Sequence[Span], tokens: Sequence[int], most: int) -> list[Chunk]:
    """Plan what is read of a document, as chunks: from 0 to the end of the text, each of at most `most` tokens.

    `passages`, with their `tokens`, are in order and cover all but white space; one with more is a chunk by itself.
    Beyond one for each border and each passage that goes on after a cut, chunks are at most 1 + 4 * tokens / most.
    """
    text, own = document.text, _own_starts(document.text, passages)
    continuing = [start for start, passage in zip(own, passages, strict=True) if passage.start < start]
    chunks: list[Chunk] = []
    for start, end in pairwise(sorted({*borders(document), *continuing, len(text)})):
        first, last = bisect_left(own, start), bisect_left(own, end)
        parts = _joined(tokens[first:last], _gaps(text, passages[first:last]), most) or [(0, 0)]
        groups = [(first + a, first + b) for a, b in parts]
        edges = [start, *(own[a] for a, _ in groups[1:]), end]
        for (a, b), (begin, stop) in zip(groups, pairwise(edges), strict=True):
            context = min([begin, *(passage.start for passage in passages[a : min(b, a + 1)])])
            chunks.append(Chunk(begin, stop, sum(tokens[a:b]), b - a, context))
    return chunks


def borders(document: Parsed) -> list[int]:
    """0 and the starts of pages and sections, ascending; without the deepest levels where there are too many."""
    levels = {0: set(document.page_starts)}
    for section in document.sections:
        levels.setdefault(section.level, set()).add(section.start)
    starts: set[int] = set()
    for level in sorted(levels):
        if len(starts | levels[level]) > MOST_BORDERS:
            break
        starts |= levels[level]
    return sorted({0, *(start for start in starts if start < len(document.text))})


def windows(text: str, units: Iterable[Span], model: TokenCounter, limit: int, overlap: int = 0) -> list[Span]:
    """Neighbouring units joined to windows of at most `limit` tokens, about equal in size; `overlap`: see `fitting`."""
    remaining, spans = iter(units), list[Span]()
    special = model.count_tokens([""])[0]
    while batch := list(islice(remaining, _BATCH)):
        pieces, counts = fitting(text, batch, model, limit, overlap)
        sizes = [tokens - special for tokens in counts]
        groups = [pieces[a:b] for a, b in _joined(sizes, _gaps(text, pieces), limit - special)]
        spans += [Span(group[0].start, group[-1].end) for group in _checked(text, groups, model, limit)]
    return spans


def _checked(text: str, groups: list[list[Span]], model: TokenCounter, limit: int) -> list[list[Span]]:
    """The groups, halved where the whole has more tokens than `limit`: a tokenizer may join over white space."""
    while True:
        counts = model.count_tokens([text[group[0].start : group[-1].end] for group in groups])
        long = [tokens > limit and len(group) > 1 for group, tokens in zip(groups, counts, strict=True)]
        if not any(long):
            return groups
        groups = [
            part
            for group, halve in zip(groups, long, strict=True)
            for part in ((group[: len(group) // 2], group[len(group) // 2 :]) if halve else (group,))
        ]


def _own_starts(text: str, passages: Sequence[Span]) -> list[int]:
    """Where each passage says something new: after what it shares with the one before, and white space."""
    return [
        span.start if span.start >= before.end else trimmed(text, before.end, span.end).start
        for before, span in pairwise([Span(0, 0), *passages])
    ]


def _gaps(text: str, spans: Sequence[Span]) -> list[int]:
    """How well the text parts before each span: 2 at an empty line, 1 at the end of a line, 0 inside one."""
    lines = (text.count("\n", before.end, span.start) for before, span in pairwise(spans))
    return [0, *(min(2, count) for count in lines)]


def _joined(sizes: Sequence[int], gaps: Sequence[int], budget: int) -> list[tuple[int, int]]:
    """Ranges of neighbours whose sizes sum to at most `budget`; a larger one stands alone.

    Of the places between half an even share and the budget, the range ends where the gap is best, then where the share
    is nearest to an even one, so that the last is not a remnant.
    """
    total, ranges, first = [*accumulate(sizes, initial=0)], list[tuple[int, int]](), 0
    while first < len(sizes):
        last, held = len(sizes), total[first]
        if (rest := total[-1] - held) > budget and first + 1 < last:
            share = -(-rest // -(-rest // budget))
            most = max(first + 1, bisect_right(total, held + budget, first) - 1)
            least = min(most, bisect_left(total, held + share // 2, first + 1))
            last = max(range(least, most + 1), key=lambda i: (gaps[i], -abs(total[i] - held - share)))
        ranges.append((first, last))
        first = last
    return ranges
