"""Here stands what a learned head answers to golden texts, as numbers: each text is a document of its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed
from pipeline.heads import fields, sentences
from pipeline.heads.candidates import Page
from pipeline.heads.classifier import Classifier
from pipeline.heads.fields import FieldsHead
from pipeline.heads.file import HeadFile
from pipeline.heads.sentences import SentencesHead
from pipeline.tasks import Embedder
from pipeline.tasks.embedding.passages import OVERLAP, passages
from pipeline.tasks.embedding.prompted import reading_documents

Numbers = NDArray[np.float32]
Asked = Callable[[engine.Model, Sequence[str]], Iterator[Numbers]]


def _labels(head: HeadFile) -> Asked:
    """The probabilities of labels."""
    classifier = Classifier.from_file(head)

    def ask(model: engine.Model, texts: Sequence[str]) -> Iterator[Numbers]:
        yield classifier.probabilities(model.embed(texts), texts)

    return ask


def _fields(head: HeadFile) -> Asked:
    """The logits of all candidates of each type that the head knows."""
    found = FieldsHead.from_file(head)
    types = dict.fromkeys((field.type, field.pattern) for field in found.fields)

    def ask(model: engine.Model, texts: Sequence[str]) -> Iterator[Numbers]:
        reader = reading_documents(model)
        for document in map(_document, texts):
            spans = passages(document, reader, OVERLAP)
            page, vectors = Page(document, spans), _embedded(document, spans, reader)
            for type_, pattern in types:
                candidates = page.candidates(type_, pattern)
                yield found.logits(vectors, candidates, page.words(candidates))

    return ask


def _sentences(head: HeadFile) -> Asked:
    """The scores of sentences."""
    found = SentencesHead.from_file(head)

    def ask(model: engine.Model, texts: Sequence[str]) -> Iterator[Numbers]:
        reader = reading_documents(model)
        for document in map(_document, texts):
            spans = passages(document, reader)
            scores = found.scores(document, spans, _embedded(document, spans, reader))
            yield np.array(scores, np.float32)

    return ask


ASKED: Final[Mapping[str, Callable[[HeadFile], Asked]]] = MappingProxyType(
    {"classify": _labels, fields.KIND: _fields, sentences.KIND: _sentences}
)
"""The kind of a head -> what reads it and then answers texts. ValueError, KeyError and TypeError for a file whose parts
do not go together."""


def _document(text: str) -> Parsed:
    return Parsed(text, "text/plain", "golden")


def _embedded(document: Parsed, spans: Sequence[Any], model: Embedder) -> Numbers:
    return model.embed([document.text[span.start : span.end] for span in spans])
