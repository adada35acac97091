"""How good summaries are: ROUGE-1, ROUGE-2 and ROUGE-L against a reference, beside the lead and an oracle.

Source: C.-Y. Lin, ROUGE: a package for automatic evaluation of summaries (2004), sections 2 and 3.1: F1 of the n-grams
that two texts have in common, and of their longest common subsequence of words. Texts are compared as the package
`rouge-score` does without a stemmer: in lower case, words of letters and digits (here of all scripts). Of several
references the best one counts. The lead is the first sentences of the document. The oracle picks sentences of the
document, one by one, for the greatest sum of ROUGE-1 and ROUGE-2 (Nallapati, Zhai and Zhou 2017, SummaRuNNer, section
3): what an extract could reach that had seen the reference.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.tasks.judging import Floats, Judge, Judgement, measured, weighted_mean
from pipeline.text.sentences import split_sentences

_WORD = re.compile(r"[^\W_]+")
_TRIED: Final = 200  # sentences of a document that the oracle looks at: those with most words of the reference


class Rouge(NamedTuple):
    """F1 of single words, of pairs of words, and of the longest common subsequence."""

    rouge_1: float
    rouge_2: float
    rouge_l: float


def words_of(text: str) -> list[str]:
    """The words by which texts are compared."""
    return _WORD.findall(text.lower())


def rouge(summary: str, references: Sequence[str]) -> Rouge:
    """The best of each measure over the references."""
    said = words_of(summary)
    known = [words_of(reference) for reference in references]
    each = [(_overlap(said, its, 1), _overlap(said, its, 2), rouge_l(said, its)) for its in known]
    return Rouge(*map(max, zip(*each, strict=True)))


def rouge_l(said: Sequence[str], known: Sequence[str]) -> float:
    """F1 of the longest common subsequence of words."""
    places = dict[str, int]()
    for index, word in enumerate(said):
        places[word] = places.get(word, 0) | 1 << index
    full = (1 << len(said)) - 1
    row = full
    for word in known:
        matches = row & places.get(word, 0)
        row = (row + matches | row - matches) & full
    return _f1(len(said) - row.bit_count(), len(said), len(known))


def _overlap(said: Sequence[str], known: Sequence[str], n: int) -> float:
    ours, theirs = (Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (said, known))
    return _f1(sum((ours & theirs).values()), sum(ours.values()), sum(theirs.values()))


def _f1(common: int, ours: int, theirs: int) -> float:
    return 2 * common / (ours + theirs) if common else 0.0


def lead(text: str, sentences: int | None, words: int | None) -> str:
    """The first sentences of a text, as many as the job asks for: at least one."""
    return " ".join(_within(_sentences(text), sentences, words))


def oracle(text: str, most: int | None, words: int | None, references: Sequence[str]) -> str:
    """The sentences of a text, as many as the job asks for, that are most like one of the references."""
    known = {word for reference in references for word in words_of(reference)}
    sentences = _sentences(text)
    order = sorted(range(len(sentences)), key=lambda i: (-len(known & set(words_of(sentences[i]))), i))
    left, chosen, best = order[:_TRIED], list[int](), 0.0
    while left:
        gains = {}
        for index in left:
            tried = [sentences[one] for one in sorted([*chosen, index])]
            if len(_within(tried, most, words)) == len(tried):
                gains[index] = _likeness(" ".join(tried), references)
        if not gains or (chosen and max(gains.values()) <= best):
            break
        index = max(gains, key=lambda one: (gains[one], -one))
        chosen, best = [*chosen, index], gains[index]
        left.remove(index)
    return " ".join(sentences[index] for index in sorted(chosen))


def _likeness(text: str, references: Sequence[str]) -> float:
    said = words_of(text)
    return max(_overlap(said, known, 1) + _overlap(said, known, 2) for known in map(words_of, references))


def _sentences(text: str) -> list[str]:
    return [" ".join(text[span.start : span.end].split()) for span in split_sentences(text)]


def _within(sentences: Sequence[str], most: int | None, words: int | None) -> list[str]:
    """The first of them, at least one, that are no more than the job asks for."""
    kept, count = list[str](), 0
    for sentence in sentences:
        count += len(sentence.split())
        full = len(kept) >= most if most is not None else count > (words or 0)
        if kept and full:
            break
        kept.append(sentence)
    return kept


def figures_of(weights: Floats, compared: Sequence[tuple[Rouge, Rouge, Rouge]]) -> Mapping[str, Floats]:
    """The means of the measures of summaries, those of leads and oracles beside them, and over_lead: by how much
    ROUGE-L is above that of the lead. Weights float64 [draws, documents]."""
    names = [f"{prefix}{name}" for prefix in ("", "lead_", "oracle_") for name in Rouge._fields]
    values = np.array(compared, np.float64).reshape(-1, len(names))
    means = {name: weighted_mean(weights, values[:, number].copy()) for number, name in enumerate(names)}
    return {**means, "over_lead": means["rouge_l"] - means["lead_rouge_l"]}


def judge(sentences: int | None, words: int | None, known: Sequence[Sequence[str]], texts: Sequence[str]) -> Judge:
    """The judge of summaries of these texts, by the known ones of each."""
    marks = [
        (rouge(lead(text, sentences, words), its), rouge(oracle(text, sentences, words, its), its))
        for text, its in zip(texts, known, strict=True)
    ]

    def judged(rows: Sequence[Mapping[str, Any]]) -> Judgement:
        each = zip(rows, known, marks, strict=True)
        compared = [(rouge(row.get("summary") or "", references), *mark) for row, references, mark in each]
        return Judgement(figures=measured(partial(figures_of, compared=compared), len(rows)))

    return judged
