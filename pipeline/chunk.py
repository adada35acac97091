"""Windows of a text by a budget of tokens: nothing is cut, nothing is left out but white space between windows."""

# ruff: noqa: RUF001  other scripts' punctuation is meant
import re
from collections.abc import Sequence
from typing import Protocol

from pipeline.document import Span
from pipeline.sentences import trimmed

_CLAUSE = re.compile(r"[,;:)、，；：](?=\s|[^\x00-\x7f])|\s[–—-](?=\s)")
_SPACE = re.compile(r"\s")


class TokenCounter(Protocol):
    """What planning needs of a model; `engine.Model` is one."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included."""


def fitting(text: str, units: Sequence[Span], model: TokenCounter, limit: int) -> tuple[list[Span], list[int]]:
    """The units with those over `limit` tokens cut at a clause, a space or anywhere; and the tokens of each.

    Linear but for a logarithm: a unit is cut into as many pieces as its tokens suggest, and only pieces that are still
    too long are counted again. A single code point is never cut.
    """
    spans = list(units)
    counts = model.count_tokens([text[s.start : s.end] for s in spans])
    while any(_too_long(span, tokens, limit) for span, tokens in zip(spans, counts, strict=True)):
        pieces = [
            _cut(text, span, 1 + tokens * 9 // (limit * 8)) if _too_long(span, tokens, limit) else [span]
            for span, tokens in zip(spans, counts, strict=True)
        ]
        fresh = [piece for group in pieces if len(group) > 1 for piece in group]
        recounted = iter(model.count_tokens([text[s.start : s.end] for s in fresh]))
        counts = [
            next(recounted) if len(group) > 1 else tokens
            for group, tokens in zip(pieces, counts, strict=True)
            for _ in group
        ]
        spans = [piece for group in pieces for piece in group]
    return spans, counts


def windows(text: str, units: Sequence[Span], model: TokenCounter, limit: int) -> list[Span]:
    """Neighbouring units joined to windows of at most `limit` tokens, of about equal size."""
    spans, counts = fitting(text, units, model, limit)
    special = model.count_tokens([""])[0]
    target = _even_target(sum(counts) - special * len(counts), limit - special)
    groups = [spans[a:b] for a, b in _grouped([tokens - special for tokens in counts], target)]
    return [Span(group[0].start, group[-1].end) for group in _checked(text, groups, model, limit)]


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


def _too_long(span: Span, tokens: int, limit: int) -> bool:
    return tokens > limit and span.end - span.start > 1


def _even_target(total: int, budget: int) -> int:
    """Content tokens of a window, so that the last one is not a remnant."""
    number = -(-total // budget)
    return -(-total // number) if number else budget


def _grouped(sizes: Sequence[int], target: int) -> list[tuple[int, int]]:
    """Ranges of neighbours whose sizes sum to at most `target`; a larger one stands alone."""
    groups, first, held = [], 0, 0
    for index, size in enumerate(sizes):
        if index > first and held + size > target:
            groups.append((first, index))
            first, held = index, 0
        held += size
    return [*groups, (first, len(sizes))] if sizes else []


def _cut(text: str, span: Span, parts: int) -> list[Span]:
    """At least two pieces of about equal length, broken where the text allows it best."""
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
