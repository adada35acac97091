"""Text that no person sees, shown as what it is: where in the parsed text it stands, or stood before it was left out.

The document is read twice, without its hidden text and with it. What only the second reading has is hidden, and comes
where it stands between what both have.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.document import Unseen
from pipeline.parse import KINDS
from pipeline.parse.view.order import counts, places_in

WAYS = KINDS
"""The ways in which text is hidden from people, each in words."""

_LONGEST = 400_000  # characters of a text in which hidden pieces are looked for


@dataclass(frozen=True)
class Shown:
    """A hidden piece of `kind` (parse/sight/hidden.py), at text[at:end] of the parsed text; where that does not hold
    it, `end` is `at`."""

    kind: str
    text: str
    at: int
    end: int


def shown_in(
    text: str, without: str, full: str, told: Sequence[Unseen]
) -> tuple[tuple[Shown, ...], tuple[Unseen, ...]]:
    """The hidden pieces of a document by their places in its parsed `text`, and those that have none.

    `without` and `full` are its text without and with what is hidden, `told` the pieces that were met.
    """
    if max(len(text), len(full)) > _LONGEST:
        return (), tuple(told)
    here = places_in(full, without)
    there = range(len(without)) if text == without else places_in(without, text)
    last, left, found = 0, list(told), list[Shown]()
    counted = (place for place, one in enumerate(full) if counts(one))
    # from a character that counts to the last one in a row is hidden what the full text has alone; it belongs in the
    # text behind the last character that both have
    for hidden, places in itertools.groupby(counted, key=lambda place: here[place] < 0):
        run = list(places)
        if hidden:
            start, end = run[0], run[-1] + 1
            span = (start, end) if text == full else (last, last)
            found.append(Shown(_kind_of(full[start:end], left), full[start:end], *span))
        else:
            last = next((there[here[place]] + 1 for place in reversed(run) if there[here[place]] >= 0), last)
    return tuple(found), tuple(left)


def _kind_of(piece: str, left: list[Unseen]) -> str:
    """The kind of the pieces that a stretch is made of, which are taken out of those that are `left`."""
    wanted, kinds = _squeezed(piece), list[str]()
    for one in list(left):
        said = _squeezed(one.text)
        if said and (said in wanted or wanted in said):
            kinds.append(one.kind)
            left.remove(one)
            if wanted in said:
                break
    return kinds[0] if kinds else "marked_hidden"


def _squeezed(text: str) -> str:
    return "".join(filter(counts, text))
