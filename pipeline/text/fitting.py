"""Units of a text, such as sentences, made to fit the model: what is too long is cut, and nothing is left out."""

# ruff: noqa: RUF001  other scripts' punctuation is meant
import re
from collections.abc import Collection, Sequence
from typing import Protocol

from pipeline.document import Span
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
