"""The plan of a document: chunks by a budget of tokens, cut along its structure, that cover its text exactly.

Pages, sheets, slides and sections are never joined. Within one, neighbours are joined up to the budget and parted where
the text parts best: at an empty line, else at the end of a line, else between sentences (what is longer than the budget
`fitting` has cut: at a clause, a space or anywhere).
"""

# ruff: noqa: RUF001  other scripts' punctuation is meant
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import Final, Protocol

from pipeline.document import Parsed, Span
from pipeline.text.sentences import trimmed

_CLAUSE = re.compile(r"[,;:)、，；：](?=\s|[^\x00-\x7f])|\s[–—-](?=\s)")
_SPACE = re.compile(r"\s")
_LONGEST = 16_384  # characters of a unit that is counted as a whole
_ROOM = 8  # of the tokens of a piece, one in so many is kept free where it is to read what comes before it
_WORD = 16  # characters that it may begin earlier still, so that it begins with a word

Sized = tuple[Span, int]  # and its tokens


class TokenCounter(Protocol):
    """A model as far as planning needs it; `engine.Model` is one."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included."""


def fitting(
    text: str, units: Sequence[Span], model: TokenCounter, limit: int, overlap: int = 0
) -> tuple[list[Span], list[int]]:
    """The units with those over `limit` tokens cut at a clause, a space or anywhere; and the tokens of each.

    With `overlap`, a piece that goes on after a cut begins so many characters before it, or some more, so that what the
    cut parts is whole in one of the two; fewer where they are too many tokens. Starts ascend all the same. Linear but
    for a logarithm. A single code point is never cut.
    """
    parts = [part for unit in units for part in _readable(text, unit)]
    sized = list(zip(parts, _tokens(text, parts, model), strict=True))
    long = [pair for pair in sized if _too_long(*pair, limit)]
    pieces = _shortened(text, long, model, limit - limit // _ROOM if overlap else limit)
    spans = sorted([*(pair for pair in sized if not _too_long(*pair, limit)), *pieces], key=lambda pair: pair[0].start)
    if overlap:
        spans = _overlapping(text, spans, {unit.start for unit in units}, model, limit, overlap)
    return [span for span, _ in spans], [tokens for _, tokens in spans]


def _readable(text: str, unit: Span) -> list[Span]:
    """The unit, cut if it has more characters than anyone's sentence: memory stays flat, and evidence readable."""
    length = unit.end - unit.start
    return _cut(text, unit, -(-length // _LONGEST)) if length > _LONGEST else [unit]


def _tokens(text: str, spans: Sequence[Span], model: TokenCounter) -> list[int]:
    return model.count_tokens([text[span.start : span.end] for span in spans])


def _too_long(span: Span, tokens: int, limit: int) -> bool:
    return tokens > limit and span.end - span.start > 1


def _shortened(text: str, sized: Sequence[Sized], model: TokenCounter, limit: int) -> list[Sized]:
    """Cut into as many pieces as the tokens suggest; only pieces that are still too long are counted again."""
    done, left = [pair for pair in sized if not _too_long(*pair, limit)], [*sized]
    while left := [pair for pair in left if _too_long(*pair, limit)]:
        pieces = [piece for span, tokens in left for piece in _cut(text, span, 1 + tokens * 9 // (limit * 8))]
        left = list(zip(pieces, _tokens(text, pieces, model), strict=True))
        done += [pair for pair in left if not _too_long(*pair, limit)]
    return done


def _cut(text: str, span: Span, parts: int) -> list[Span]:
    """Break a span into at least two pieces of about equal length, where the text allows it best."""
    step = max(1, (span.end - span.start) // max(2, parts))
    pieces, begin = [], span.start
    while span.end - begin > step:
        end = _break_before(text, begin, begin + step)
        pieces.append(trimmed(text, begin, end))
        begin = end
    pieces.append(trimmed(text, begin, span.end))
    return [piece for piece in pieces if piece.start < piece.end]


def _break_before(text: str, begin: int, end: int) -> int:
    """The last clause end, else the last space, in the second half of text[begin:end]; `end` where there is none."""
    half = begin + (end - begin) // 2
    for pattern in (_CLAUSE, _SPACE):
        places = [match.end() for match in pattern.finditer(text, half, end)]
        if places and places[-1] > begin:
            return places[-1]
    return end


def _overlapping(
    text: str, sized: Sequence[Sized], begun: Collection[int], model: TokenCounter, limit: int, overlap: int
) -> list[Sized]:
    """All spans, those that begin none of the units (`begun`) reaching back by `overlap` characters or by less."""
    spans = list(sized)
    reach = {
        index: min(overlap, (limit - tokens) * (span.end - span.start) // tokens)
        for index, (span, tokens) in enumerate(sized)
        if span.start not in begun
    }
    while reach := {index: characters for index, characters in reach.items() if characters > 0}:
        longer = [
            Span(_back(text, sized[i][0], sized[i - 1][0].start + 1, r), sized[i][0].end) for i, r in reach.items()
        ]
        found = dict(zip(reach, zip(longer, _tokens(text, longer, model), strict=True), strict=True))
        for index, (span, tokens) in found.items():
            if tokens <= limit:
                spans[index] = span, tokens
        reach = {index: reach[index] // 2 for index, (_, tokens) in found.items() if tokens > limit}
    return spans


def _back(text: str, piece: Span, least: int, overlap: int) -> int:
    """Where a piece begins that reaches back by `overlap` characters, from `least` on: with a word if one is near."""
    begin = max(least, piece.start - overlap)
    words = [match.end() for match in _SPACE.finditer(text, max(least, begin - _WORD), begin)]
    return trimmed(text, words[-1] if words else begin, piece.end).start


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
