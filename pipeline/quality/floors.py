"""The figures that can be measured of each task, with their words, and the floor that a job demands of them."""

from collections.abc import Mapping, Sequence
from typing import Final

from pipeline.quality.bootstrap import Figure

WORDS: Final = {
    "accuracy": "documents with the right label",
    "macro_f1": "mean F1 of the labels",
    "answered": "documents that got a label",
    "exact": "values exactly right, mean of the fields",
    "normalised": "values right but for case, punctuation and form, mean of the fields",
    "token_f1": "F1 of the words of values, mean of the fields",
    "absent_empty": "absent fields that got no value",
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
    "lead_rouge_1": "ROUGE-1 of the first sentences",
    "lead_rouge_2": "ROUGE-2 of the first sentences",
    "lead_rouge_l": "ROUGE-L of the first sentences",
    "oracle_rouge_1": "ROUGE-1 that an extract can reach",
    "oracle_rouge_2": "ROUGE-2 that an extract can reach",
    "oracle_rouge_l": "ROUGE-L that an extract can reach",
    "over_lead": "ROUGE-L above that of the first sentences",
}
"""What a figure says, for people."""

MEASURES: Final[Mapping[str, tuple[str, ...]]] = {
    "classify": ("macro_f1", "accuracy", "answered"),
    "extract": ("token_f1", "exact", "normalised", "absent_empty"),
    "summarize": ("rouge_l", "rouge_1", "rouge_2", "over_lead"),
}
"""Task -> the figures for which a floor can be set; models are compared by the first."""


def missed(metrics: Mapping[str, float], floor: Mapping[str, float]) -> list[str]:
    """Tell in words which figures are below the floor, or were not measured; empty if the floor is reached."""
    told = []
    for name, least in floor.items():
        value = metrics.get(name)
        if value is None:
            told.append(f"{name} could not be measured, and must be {least:g} at least")
        elif value < least:
            told.append(f"{name} is {value:.4f}, and must be {least:g} at least")
    return told


def metrics_of(figures: Sequence[Figure]) -> dict[str, float]:
    """The figures that have a value, by their names."""
    return {figure.name: figure.value for figure in figures if figure.value is not None}
