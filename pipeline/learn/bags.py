"""The words of candidates by number, and which of them are known: those that stand in two documents at least."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

import engine


class Words:
    """The words of all candidates, numbered as they come, and in how many documents each of them stands."""

    def __init__(self) -> None:
        self._numbers, self._counts = dict[str, int](), Counter[int]()
        self._before = Counter[int]()  # the document at which a word was met last
        self._documents = 0

    def begin(self) -> None:
        """Go on to the next document."""
        self._documents += 1

    def bags(self, words: Iterable[Iterable[str]]) -> engine.Bags:
        """The words of each candidate, each once, by number."""
        starts, found = [0], list[int]()
        for its in words:
            found += sorted({self._numbers.setdefault(word, len(self._numbers)) for word in its})
            starts.append(len(found))
        for number in set(found):
            if self._before[number] != self._documents:
                self._before[number] = self._documents
                self._counts[number] += 1
        return engine.Bags(np.array(starts, np.int64), np.array(found, np.int32), np.ones(len(found), np.float32), 0)

    def known(self) -> tuple[list[str], NDArray[np.int32]]:
        """The words that stand in two documents at least, in order, and the place of each number among them, or -1."""
        known = sorted(word for word, number in self._numbers.items() if self._counts[number] > 1)
        places = np.full(len(self._numbers), -1, np.int32)
        for place, word in enumerate(known):
            places[self._numbers[word]] = place
        return known, places


def placed(bags: engine.Bags, places: NDArray[np.int32]) -> engine.Bags:
    """The bags with the words that have a place, by their places, in order within a candidate."""
    rows = np.repeat(np.arange(len(bags.starts) - 1), np.diff(bags.starts))
    words = places[bags.words]
    rows, words = rows[words >= 0], words[words >= 0]
    order = np.lexsort((words, rows))
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(bags.starts) - 1))]).astype(np.int64)
    size = int((places >= 0).sum())
    return engine.Bags(ends, np.ascontiguousarray(words[order]), np.ones(len(words), np.float32), size)
