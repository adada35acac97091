"""Speculative decoding by prompt lookup: the next tokens are guessed from a text that answers copy from.

Source: Saxena 2023, "prompt lookup decoding". Guesses are verified in one step, and change nothing but time.
"""

import math

import numpy as np

from engine.generate.request import Ids
from engine.kernels.choice import LONGEST as SURE
from engine.kernels.choice import find

LONGEST = 16
READING = 3
"""Reading the weights takes a step about as long as so many of its rows do."""
_SHORTEST, _SHORTEST_DEAR = 2, 3  # tokens that must be the same before it, and where rows take most of the time
_BEFORE, _LEARNED = 0.5, 0.2
_HOPE = 0.25  # the rate below which even what follows the longest passage is not tried
_NONE: Ids = np.zeros(0, np.int32)


class Guesser:
    """Guesses of one answer, as many as its former ones bear out."""

    def __init__(self, source: Ids) -> None:
        self._source = np.ascontiguousarray(source, np.int32).view()
        self._source.flags.writeable = False  # kernels are compiled for arguments of one type
        self._rate = _BEFORE  # that a guess is right, if the one before it was

    def guess(self, ids: Ids, size: int, rows: int, most: int) -> Ids:
        """int32 [n]: tokens that may follow ids[:size], at most `most` of them; `rows` is how many rows the step has
        without them. So many are guessed that the last one is still likely enough to save the time that its row
        takes."""
        likely = int(math.log(rows / (rows + READING)) / math.log(self._rate))
        if most < 1 or (likely < 1 and self._rate < _HOPE):
            return _NONE
        at, same = find(self._source, ids, size)
        if same == SURE:
            likely = max(likely, 1)  # else nothing would be learned where rows are many
        elif same < (_SHORTEST if rows <= READING else _SHORTEST_DEAR):
            return _NONE
        return self._source[at : at + min(likely, most, LONGEST)]

    def learn(self, guessed: int, right: int) -> None:
        """Adapts the expected hit rate: `right` of `guessed` guesses were right."""
        for i in range(min(guessed, right + 1)):
            self._rate += _LEARNED * ((i < right) - self._rate)
        self._rate = min(max(self._rate, 0.05), 0.995)
