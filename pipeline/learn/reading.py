"""Examples are read as documents of the job are read: the same parsers, the same paragraphs, the same vectors."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.document import Parsed
from pipeline.errors import DocumentError
from pipeline.heads.classifier import Vectors, mean
from pipeline.inbox.parsers import open_parsers
from pipeline.learn.examples import Example, ExamplesRefusedError, Mistake
from pipeline.parse import Options
from pipeline.plan import RunPlan
from pipeline.tasks import Embedder
from pipeline.tasks.embedding.passages import paragraphs

_TOGETHER = 512  # texts that are embedded in one go
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Read:
    """An example with its text."""

    example: Example
    document: Parsed


def read_documents(plan: RunPlan, examples: Sequence[Example]) -> list[Read]:
    """The examples with their texts; of the same text under the same label only the first. ExamplesRefusedError for
    documents that cannot be read, and for one text under two labels."""
    mistakes, found = list[Mistake](), dict[str, Read]()
    for read in _parsed(plan, examples, mistakes):
        before = found.setdefault(read.document.text_sha256, read).example
        if before.label != read.example.label:
            told = f"the text of {before.place}, there with the label {before.label!r}, here {read.example.label!r}"
            mistakes.append(Mistake(read.example.place, told, "one label for a text", "remove the wrong one"))
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return list(found.values())


def _parsed(plan: RunPlan, examples: Sequence[Example], mistakes: list[Mistake]) -> Iterator[Read]:
    files = [example for example in examples if example.path]
    yield from (Read(one, _plain(one.text)) for one in examples if one.text is not None)
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


def _plain(text: str) -> Parsed:
    """A text that stands in a file of examples, with line ends as parsers give them."""
    return Parsed("\n".join(line.rstrip() for line in text.split("\n")).strip(), "text/plain", "example")


def means_of(documents: Sequence[Parsed], model: Embedder, progress: Progress) -> Vectors:
    """float32 [documents, d]: the mean of the vectors of each document's paragraphs, of which each has one at least."""
    texts, ends = list[str](), list[int]()
    for document in documents:
        texts += [document.text[span.start : span.end] for span in paragraphs(document, model)]
        ends.append(len(texts))
    vectors = list[NDArray[np.float32]]()
    for first in range(0, len(texts), _TOGETHER):
        progress(first, len(texts))
        vectors.append(model.embed(texts[first : first + _TOGETHER]))
    progress(len(texts), len(texts))
    together, starts = np.concatenate(vectors), [0, *ends[:-1]]
    return np.stack([mean(together[start:end]) for start, end in zip(starts, ends, strict=True)])
