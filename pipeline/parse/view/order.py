"""Where the characters of one text stand in another one that is nearly the same, by the order of both.

White space, hyphens and bars between cells are passed over, for these are what reading changes. Stretches that occur
once in both texts hold the two together; between them shorter ones do. What is left over has no place.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

_PASSED_OVER = frozenset("|-\xad\u2010\ufffe\ufeff")
_SIZES = (24, 12, 6, 3)  # characters of the stretches that are looked for, one size after the other
_NOWHERE = -1


class _Gap(NamedTuple):
    """Stretches of both texts that are still to be matched, from `a0` to `a1` and from `b0` to `b1`, by stretches of
    the size `size`. `left` and `right`: what stands beside them there is matched, so it may go on."""

    a0: int
    a1: int
    b0: int
    b1: int
    size: int
    left: bool
    right: bool


def places_in(text: str, other: str) -> list[int]:
    """The place in `other` of each character of `text`; -1 for a character that has none."""
    ours, theirs = ([place for place, one in enumerate(some) if counts(one)] for some in (text, other))
    found = [_NOWHERE] * len(text)
    one, two = "".join(map(text.__getitem__, ours)), "".join(map(other.__getitem__, theirs))
    for place, at in enumerate(_matched(one, two)):
        if at != _NOWHERE:
            found[ours[place]] = theirs[at]
    return found


def counts(one: str) -> bool:
    """Whether a character is looked at: it is neither white space, nor a hyphen, nor a bar."""
    return not one.isspace() and one not in _PASSED_OVER


def _matched(one: str, two: str) -> Sequence[int]:
    """The place in `two` of each character of `one`, or -1."""
    if one == two:  # as nearly always
        return range(len(one))
    found = [_NOWHERE] * len(one)
    gaps = [_Gap(0, len(one), 0, len(two), 0, False, False)]
    while gaps:
        a0, a1, b0, b1, size, left, right = gaps.pop()
        last = size == len(_SIZES)
        # what goes on from what is matched beside the gap; in the end also what only stands at its edges
        while (left or last) and a0 < a1 and b0 < b1 and one[a0] == two[b0]:
            found[a0] = b0
            a0, b0 = a0 + 1, b0 + 1
        while (right or last) and a0 < a1 and b0 < b1 and one[a1 - 1] == two[b1 - 1]:
            a1, b1 = a1 - 1, b1 - 1
            found[a1] = b1
        if a0 == a1 or b0 == b1 or last:
            continue
        # stretches that occur once on both sides of the gap, and the gaps between them
        ours, theirs = _once(one[a0:a1], _SIZES[size]), _once(two[b0:b1], _SIZES[size])
        both = ((at, theirs.get(stretch, _NOWHERE)) for stretch, at in ours.items())
        pairs = [(a0 + at, b0 + to) for at, to in both if at != _NOWHERE != to]
        for a, b in _in_order(pairs):
            found[a] = b
            if a > a0 and b > b0:
                gaps.append(_Gap(a0, a, b0, b, size + 1, left, True))
            a0, b0, left = a + 1, b + 1, True
        if a0 < a1 and b0 < b1:
            gaps.append(_Gap(a0, a1, b0, b1, size + 1, left, right))
    return found


def _once(text: str, size: int) -> dict[str, int]:
    """Each stretch with its place; -1 for one that occurs again."""
    found: dict[str, int] = {}
    for place in range(len(text) - size + 1):
        stretch = text[place : place + size]
        found[stretch] = _NOWHERE if stretch in found else place
    return found


def _in_order(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest series of pairs that ascends on both sides, of pairs that ascend on the first."""
    ends: list[int] = []  # the least second place with which a series of each length ends
    last: list[int] = []  # and the number of the pair that it ends with
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else _NOWHERE)
        ends[length : length + 1], last[length : length + 1] = [place], [number]
    series, number = list[tuple[int, int]](), last[-1] if last else _NOWHERE
    while number != _NOWHERE:
        series.append(pairs[number])
        number = before[number]
    return series[::-1]
