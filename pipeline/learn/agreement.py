"""How far two texts agree: by their words, and by the longest common run of words in order."""

import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case."""
    return _WORD.findall(text.lower())


def f1(a: Counter[str], b: Counter[str], least: float = 0.0) -> float:
    """Token F1 of two bags of words (Rajpurkar et al. 2016); 0 where it is surely less than `least`."""
    of_a, of_b = a.total(), b.total()
    if not of_a or not of_b or 2 * min(of_a, of_b) < least * (of_a + of_b):
        return 0.0
    small, large = (a, b) if len(a) < len(b) else (b, a)
    both = sum(min(count, large[word]) for word, count in small.items() if word in large)
    return 2 * both / (of_a + of_b)


def rouge_l(found: Sequence[str], reference: Sequence[str]) -> float:
    """F1 of the longest common subsequence of words (Lin 2004)."""
    if not found or not reference:
        return 0.0
    before = [0] * (len(reference) + 1)
    for word in found:
        row = [0]
        for index, other in enumerate(reference):
            row.append(before[index] + 1 if word == other else max(before[index + 1], row[index]))
        before = row
    return 2 * before[-1] / (len(found) + len(reference))
