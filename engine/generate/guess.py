"""Guesses at what is written next: what followed the last tokens in a text that answers copy from.

Source: Saxena 2023, "prompt lookup decoding". Guesses are verified in one step, and change nothing but time.
"""

import math

import numpy as np

from engine.generate.request import Ids
from engine.kernels.lookup_text import find

LONGEST = 16
LIGHT = 16
"""Rows of a step up to which one more costs next to nothing, since reading the weights takes the time. Beyond it a
guess costs what a right one saves."""
_FREE, _DEAR = 0.1, 0.9  # how likely a guess must be in a light step and in a full one
_SHORTEST_FREE, _SHORTEST_DEAR = 2, 3  # tokens that must be the same before it
_BEFORE, _LEARNED = 0.5, 0.2
_NONE: Ids = np.zeros(0, np.int32)


class Guesser:
    """Guesses of one answer, as many as its former ones bear out."""

    def __init__(self, source: Ids) -> None:
        self._source = np.ascontiguousarray(source, np.int32).view()
        self._source.flags.writeable = False  # kernels are compiled for arguments of one type
        self._rate = _BEFORE  # that a guess is right, if the one before it was

    def guess(self, ids: Ids, size: int, rows: int, most: int) -> Ids:
        """What may follow ids[:size], at most so many tokens; `rows` is how many the step has without them."""
        light = rows < LIGHT
        least = _FREE if light else _DEAR
        count = min(most, LONGEST, int(math.log(least) / math.log(self._rate)))
        if light:
            count = min(count, LIGHT - rows)
        if count < 1:
            return _NONE
        at, same = find(self._source, ids, size)
        if same < (_SHORTEST_FREE if light else _SHORTEST_DEAR):
            return _NONE
        return self._source[at : at + count]

    def learn(self, guessed: int, right: int) -> None:
        """How many of the guesses were right."""
        for i in range(min(guessed, right + 1)):
            self._rate += _LEARNED * ((i < right) - self._rate)
        self._rate = min(max(self._rate, 0.05), 0.995)
