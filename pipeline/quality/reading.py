"""Evaluation documents are read as a run reads documents: by the same parsers, within the same limits."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.inbox.order import Work
from pipeline.learn.examples import ExamplesRefusedError, Mistake
from pipeline.learn.reading import read_all
from pipeline.plan import RunPlan
from pipeline.quality.truths import Truth

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Documents:
    """Documents with their truths, in the order of the examples; `again`: examples left out, for the same text came
    before with the same answer. `seconds`: how long it took to read those that are files, of which there are `files`.
    """

    truths: tuple[Truth, ...]
    works: tuple[Work, ...]
    again: int
    files: int
    seconds: float


def read_documents(plan: RunPlan, truths: Sequence[Truth], progress: Progress) -> Documents:
    """Read the documents of examples. ExamplesRefusedError for those that cannot be read, that have no text, and for
    one text with two answers; MachineRefusedError where parsers cannot be held."""
    files = sum(one.example.path is not None for one in truths)
    begun = time.perf_counter()
    read = read_all(plan, [one.example for one in truths])
    outcomes = list(_counted(read, len(truths), progress))
    seconds = time.perf_counter() - begun
    mistakes, first, works = list[Mistake](), dict[str, int](), dict[int, Work]()
    for number, (truth, outcome) in enumerate(zip(truths, outcomes, strict=True)):
        if isinstance(outcome, Mistake):
            mistakes.append(outcome)
            continue
        before = first.setdefault(outcome.parsed.text_sha256, number)
        if before == number:
            works[number] = outcome
        elif truths[before].said != truth.said:
            told = f"the text of {truths[before].example.place}, with another answer"
            mistakes.append(Mistake(truth.example.place, told, "one answer for a text", "remove the wrong one"))
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    kept = tuple(truths[number] for number in works)
    return Documents(kept, tuple(works.values()), len(truths) - len(works), files, seconds if files else 0.0)


def _counted(outcomes: Iterator[Work | Mistake], total: int, progress: Progress) -> Iterator[Work | Mistake]:
    for done, outcome in enumerate(outcomes, 1):
        progress(done, total, "reading documents")
        yield outcome
