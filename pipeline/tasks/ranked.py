"""The labels of a document by their scores, as every classifier with probabilities gives them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

EVIDENCE: Final = 3  # places, at most


@dataclass(frozen=True)
class Ranked:
    """The columns of a row that is classified, the index of its best label, and its score; `reason`: why the best label
    is not given, None where it is."""

    columns: dict[str, Any]
    best: int
    score: float
    reason: str | None


def ranked(labels: Sequence[str], probabilities: Sequence[float], threshold: float) -> Ranked:
    """The labels with their probabilities, the best first; one below the threshold is not given. Of equal ones the
    first label is the best."""
    scores = [round(one, 6) for one in probabilities]
    order = surest(scores)
    best, score = order[0], scores[order[0]]
    low = f"the best label, {labels[best]}, scored {score:.3f}, less than {threshold:g}" if score < threshold else None
    listed = [{"label": labels[i], "score": scores[i]} for i in order]
    return Ranked({"label": None if low else labels[best], "score": score, "scores": listed}, best, score, low)


def surest(scores: Sequence[float]) -> list[int]:
    """The indexes of the scores, the highest first, of equal ones the first."""
    return sorted(range(len(scores)), key=lambda index: (-scores[index], index))
