"""Lessons in summaries: a CSV or JSONL file with `summary` and `text` or `document`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from pipeline.document import Span
from pipeline.learn import summarizing
from pipeline.learn.examples import Example, ExamplesRefusedError, Mistake, check_file, of_file, refused
from pipeline.learn.lesson import Learned, Progress
from pipeline.learn.reading import Read, read_documents, vectors_of
from pipeline.plan import RunPlan
from pipeline.tasks import Embedder
from pipeline.tasks.embedding.passages import passages
from pipeline.tasks.embedding.prose import candidates

LEAST: Final = 10  # documents of two sentences or more
_KEYS: Final = "summary, and text or document"


@dataclass(frozen=True)
class SummariesMeasured:
    """The mean ROUGE-L of one sentence of each example: that chosen by a head that had not seen it, the first, and the
    best one that there is. `sentences`: how many were learned from."""

    sentences: int
    rouge_l: float
    rouge_l_of_first: float
    rouge_l_of_best: float

    def told(self) -> Iterator[tuple[str, str]]:
        """The figures for a person."""
        yield "sentences", f"{self.sentences:,}"
        yield "ROUGE-L", f"{self.rouge_l:.3f} of one sentence, on examples that it had not seen"
        yield "", f"{self.rouge_l_of_first:.3f} of the first sentence, {self.rouge_l_of_best:.3f} of the best one"


@dataclass(frozen=True)
class SummaryLesson:
    """Documents with summaries that people wrote of them."""

    read: Sequence[Read[tuple[str, ...]]]
    given: int
    where: str

    @classmethod
    def of(cls, plan: RunPlan, source: Path, progress: Progress) -> Self:
        """Read the examples of a file. ExamplesRefusedError; OSError."""
        given = read_examples(source)
        read = read_documents(plan, given, lambda summaries: f"the summary {summaries[0]!r:.80}", progress)
        if len(read) < LEAST:
            raise refused(str(source), f"{len(read)} different documents", f"{LEAST} at least")
        return cls(read, len(given), str(source))

    def teaches(self) -> list[Any]:
        return [list(one.example.taught) for one in self.read]

    def learn(self, model: Embedder, progress: Progress) -> Learned:
        documents = [one.document for one in self.read]
        spans = [passages(document, model) for document in documents]
        vectors = vectors_of(documents, spans, model, progress)
        taught = list[summarizing.Taught]()
        for one, its, rows in zip(self.read, spans, vectors, strict=True):
            offered = candidates(one.document.text, its)
            if len(offered) > 1:
                sentences: list[Span] = [candidate.span for candidate in offered]
                of = rows[[candidate.vector for candidate in offered]]
                taught.append(summarizing.Taught(one.document, sentences, of, one.example.taught))
        if len(taught) < LEAST:
            found = f"{len(taught)} documents of two sentences or more"
            raise refused(self.where, found, f"{LEAST} at least", "a summary of one sentence is that sentence")
        learned = summarizing.learn(taught)
        if not learned.best:
            raise refused(self.where, "summaries that share no word with their documents", "summaries of the documents")
        count = sum(len(one.sentences) for one in taught)
        measured = SummariesMeasured(count, learned.chosen, learned.first, learned.best)
        return Learned(learned.head.to_file({}), measured)


def read_examples(source: Path) -> list[Example[tuple[str, ...]]]:
    """The examples of a file, in its order, each with one summary or more. ExamplesRefusedError; OSError."""
    check_file(source, _KEYS)
    mistakes, found = list[Mistake](), list[Example[tuple[str, ...]]]()
    for line in of_file(source, ["summary"], _KEYS, mistakes):
        said = line.values.get("summary")
        each: list[Any] = said if isinstance(said, list) else [said]
        if each and all(isinstance(one, str) and one.strip() for one in each):
            found.append(Example(line.place, tuple(each), line.text, line.path))
        else:
            mistakes.append(Mistake(line.place, f"the summary {said!r:.80}", "a text, or a list of texts (JSONL)"))
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return found
