"""A model that was trained with prompts reads what is looked for as queries, and passages as documents."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.document import Parsed
from pipeline.tasks import Field, Label
from pipeline.tasks.classify import ClassifySettings
from pipeline.tasks.extract import ExtractSettings
from pipeline.tasks.meanings import Meanings, Prompted, likeness, queries, reading_documents
from tests.pipeline.tasks.bag import BagOfWords


class WithPrompts(BagOfWords):
    """Keeps what it is given to embed."""

    def __init__(self, query: str, document: str) -> None:
        super().__init__()
        self.prompts, self.read, self.unrelated = (query, document), list[str](), 0.0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.read += texts
        return super().embed(texts)


def test_a_model_without_prompts_is_itself() -> None:
    model = WithPrompts("", "")
    assert reading_documents(model) is model
    assert queries(model) is model


def test_labels_and_fields_are_queries_and_passages_documents() -> None:
    tasks = (
        ClassifySettings((Label("lease", "a flat"), Label("invoice", examples=("pay this",)))),
        ExtractSettings((Field("total", "money", "to be paid"),)),
    )
    for task in tasks:
        model = WithPrompts("query: ", "passage: ")
        reader = reading_documents(model)
        on = task.on_embedding(reader)
        assert model.read
        assert all(text.startswith("query: ") for text in model.read)
        model.read.clear()
        document = Parsed("Pay EUR 12.00 now. " + "x " * 80, "text/plain", "none")
        spans = on.spans(document)
        texts = [document.text[span.start : span.end] for span in spans]
        on.answer(document, spans, reader.embed(texts))
        assert model.read == [f"passage: {text}" for text in texts]
        assert max(model.count_tokens(model.read)) <= model.context
        assert reader.count_tokens(texts) == model.count_tokens(model.read)


def test_likeness_begins_where_texts_have_nothing_in_common() -> None:
    model = WithPrompts("", "")
    assert likeness(reading_documents(model), 0.8) == 0.8
    model.unrelated = 0.75
    reader = reading_documents(model)
    assert [likeness(reader, cosine) for cosine in (0.5, 0.75, 1.0)] == [-1.0, 0.0, 1.0]
    plain, scaled = Meanings([["pay this"]], model), Meanings([["pay this"]], reader)
    vectors = model.embed(["pay now", "pay this"])
    expected = [[(cosine - 0.75) * 4 for cosine in its] for its in plain.likenesses(vectors)]
    assert scaled.likenesses(vectors) == expected


def test_one_prompt_may_be_empty() -> None:
    model = WithPrompts("query: ", "")
    reader = reading_documents(model)
    reader.embed(["a"])
    queries(reader).embed(["a"])
    assert model.read == ["a", "query: a"]
    assert isinstance(reader, Prompted)
    assert reader.context == model.context
