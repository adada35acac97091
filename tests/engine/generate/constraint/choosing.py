"""Somebody who chooses the tokens of an answer, of those that a constraint allows."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.generate.constraint.grammar import Matched
from tests.engine.generate.constraint.vocabulary import END_IDS

Chooser = Callable[[NDArray[np.int64]], int]


def allowed(mask: NDArray[np.uint32]) -> NDArray[np.int64]:
    return np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))


def written(constraint: Matched, choose: Chooser, limit: int) -> tuple[list[int], str]:
    """The ids of an answer, as an engine makes them, and how it ended."""
    ids: list[int] = []
    while len(ids) < limit:
        if constraint.is_over:
            return ids, "stop"
        number = choose(allowed(constraint.mask()))
        if number in END_IDS:
            return ids, "stop"
        constraint.advance([number])
        ids.append(number)
    return ids, "length"
