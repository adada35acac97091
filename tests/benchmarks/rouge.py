"""ROUGE-L of one summary with those that people wrote, counted in the ways in which published figures are.

`plain`: words in lower case, of a-z and 0-9; of several references the one with the best ROUGE-L counts.
`stemmed`: stems of the words that are longer than 3 letters, as with `use_stemmer` of the package rouge-score and -m of
ROUGE-1.5.5; else as `plain`.
`own`: as evaluate.py of github.com/allenai/scitldr counts: words as in `plain`, for files2rouge stems only on demand;
the ROUGE-L of the reference with the best ROUGE-1.

Lin 2004, ROUGE: a package for automatic evaluation of summaries; Cachola et al. 2020, TLDR: extreme summarization of
scientific documents.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.tasks.examples import f1
from pipeline.tasks.summarize.judge import rouge_l
from tests.benchmarks.porter import stem

WAYS = ("plain", "stemmed", "own")
_WORD = re.compile("[a-z0-9]+")
_SHORT = 3  # letters of the longest words that are not stemmed


@dataclass(frozen=True)
class Points:
    """ROUGE-L, 0 to 1, of one summary in each way."""

    plain: float
    stemmed: float
    own: float


def points(summary: str, references: Sequence[str]) -> Points:
    """How much a summary shares with the one of the references that counts."""
    said, known = words_of(summary), [words_of(reference) for reference in references]
    each = [rouge_l(said, words) for words in known]
    single = [f1(Counter(said), Counter(words)) for words in known]
    stems = [rouge_l(_stems(said), _stems(words)) for words in known]
    return Points(max(each), max(stems), each[single.index(max(single))])


def words_of(text: str) -> list[str]:
    """The words by which texts are compared."""
    return _WORD.findall(text.lower())


def _stems(words: Sequence[str]) -> list[str]:
    return [stem(word) if len(word) > _SHORT else word for word in words]
