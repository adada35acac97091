"""Examples are read as documents of the job are read: the same parsers, the same passages, the same vectors."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from pipeline.document import Parsed, Span
from pipeline.errors import DocumentError
from pipeline.heads.classifier import Vectors, mean
from pipeline.inbox.parsers import open_parsers
from pipeline.learn.examples import Example, ExamplesRefusedError, Mistake, Taught
from pipeline.parse import Options
from pipeline.plan import RunPlan
from pipeline.tasks import Embedder
from pipeline.tasks.embedding.passages import paragraphs

_TOGETHER = 512  # texts that are embedded in one go
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Read(Generic[Taught]):
    """An example with its text."""

    example: Example[Taught]
    document: Parsed


def read_documents(
    plan: RunPlan, examples: Sequence[Example[Taught]], told: Callable[[Taught], str]
) -> list[Read[Taught]]:
    """The examples with their texts; of the same text that teaches the same only the first. ExamplesRefusedError for
    documents that cannot be read, and for one text that teaches two things, each of which is `told` to a person."""
    mistakes, found = list[Mistake](), dict[str, Read[Taught]]()
    for read in _parsed(plan, examples, mistakes):
        before = found.setdefault(read.document.text_sha256, read).example
        here = read.example
        if before.taught != here.taught:
            what = f"the text of {before.place}, there with {told(before.taught)}, here with {told(here.taught)}"
            mistakes.append(Mistake(here.place, what, "a text teaches one thing", "remove the wrong one"))
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return list(found.values())


def _parsed(plan: RunPlan, examples: Sequence[Example[Any]], mistakes: list[Mistake]) -> Iterator[Read[Any]]:
    files = [example for example in examples if example.path]
    yield from (Read(one, plain(one.text)) for one in examples if one.text is not None)
    if not files:
        return
    options = Options(plan.input.hidden, 0, 0, False)
    with open_parsers(plan.site, 1) as pool:
        for example in files:
            assert example.path is not None
            try:
                document = _parse(pool.parse, example.path, options)
            except DocumentError as error:
                mistakes.append(Mistake(example.place, error.reason, remedy=error.failure.remedy))
                continue
            if document.text.strip():
                yield Read(example, document)
            else:
                mistakes.append(Mistake(example.place, "a document without text"))


def _parse(parse: Callable[..., Parsed], path: Path, options: Options) -> Parsed:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return parse(descriptor, path.name, options)
    finally:
        os.close(descriptor)


def plain(text: str) -> Parsed:
    """A text that stands in a file of examples, with line ends as parsers give them."""
    return Parsed("\n".join(line.rstrip() for line in text.split("\n")).strip(), "text/plain", "example")


def vectors_of(
    documents: Sequence[Parsed], spans: Sequence[Sequence[Span]], model: Embedder, progress: Progress
) -> list[Vectors]:
    """For each document the vectors of its spans, float32 [spans, d]."""
    texts, ends = list[str](), [0]
    for document, its in zip(documents, spans, strict=True):
        texts += [document.text[span.start : span.end] for span in its]
        ends.append(len(texts))
    vectors = list[NDArray[np.float32]]()
    for first in range(0, len(texts), _TOGETHER):
        progress(first, len(texts))
        vectors.append(model.embed(texts[first : first + _TOGETHER]))
    progress(len(texts), len(texts))
    together = np.concatenate(vectors)
    return [together[start:end] for start, end in pairwise(ends)]


def means_of(documents: Sequence[Parsed], model: Embedder, progress: Progress) -> Vectors:
    """float32 [documents, d]: the mean of the vectors of each document's paragraphs, of which each has one at least."""
    spans = [paragraphs(document, model) for document in documents]
    return np.stack([mean(vectors) for vectors in vectors_of(documents, spans, model, progress)])
