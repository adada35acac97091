"""What every task promises of its spans: they cover the document, fit the model, and are the same twice."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.document import Parsed
from pipeline.tasks import ClassifySettings, ExtractSettings, Field, Label, SummarizeSettings, Task
from pipeline.tasks import passages as module
from pipeline.tasks.passages import OVERLAP
from tests.pipeline.tasks.bag import BagOfWords

EVERY: list[Task] = [
    ClassifySettings((Label("a", "lease of a flat"), Label("b", "total of an invoice", ("total due", "x " * 200)))),
    ExtractSettings((Field("total", "money", "amount due"), Field("day", "date"), Field("who"), Field("n", "number"))),
    SummarizeSettings(sentences=2),
    SummarizeSettings(words=20),
]
PIECES = st.sampled_from(
    [
        "Total due: EUR 1,00. ",
        "Ein Satz mit fünf Wörtern. ",
        "\n\n",
        "漢字。",
        "!",
        "31.12.2025 ",
        "a | b | c\n",
        "x" * 70,
        " ",
        "- ",
    ]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200)
LONG = ["a" * 100_000, "漢字仮名交じり文" * 5_000, "." * 50_000, "!?;" * 10_000, "so, " * 20_000]


def check(task_settings: Task, text: str) -> None:
    """Spans cover the text and fit; places in the answer are what they say; nothing changes the second time.

    Only a field's value may stand across a cut: where one is made, spans of `extract` overlap.
    """
    model, document = BagOfWords(), Parsed(text, "text/plain", "none")
    task = task_settings.on_embedding(model)
    spans = task.spans(document)
    at, begun = 0, -1
    for span in spans:
        assert at <= span.start or isinstance(task_settings, ExtractSettings)
        assert max(begun, at - OVERLAP - 16) < span.start < span.end
        assert at < span.end
        assert not text[at : span.start].strip()
        at, begun = span.end, span.start
    assert not text[at:].strip()
    vectors = model.embed([text[span.start : span.end] for span in spans])  # raises where one is too long
    answer = task.answer(document, spans, vectors)
    assert all(text[evidence.start : evidence.end] == evidence.text for evidence in answer.evidence)
    assert answer == task_settings.on_embedding(model).answer(document, spans, vectors)
    assert (answer.reason is None) == (not answer.abstained)


@pytest.mark.parametrize("task_settings", EVERY, ids=lambda s: type(s).__name__)
@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_any_document(task_settings: Task, text: str) -> None:
    check(task_settings, text)


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:5])
@pytest.mark.parametrize("task_settings", EVERY, ids=lambda s: type(s).__name__)
def test_long_documents_without_an_end(task_settings: Task, text: str) -> None:
    check(task_settings, text)


@pytest.mark.parametrize("task_settings", EVERY, ids=lambda s: type(s).__name__)
def test_a_document_of_too_many_sentences_is_embedded_by_windows(
    task_settings: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_PASSAGES", 50)
    text = "The total due is EUR 12.00 now. Nobody knows why it rained on 31.12.2025 again. " * 60
    assert len(task_settings.on_embedding(BagOfWords()).spans(Parsed(text, "", ""))) < 60
    check(task_settings, text)


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        (ClassifySettings, {"labels": (Label("a"),)}, "labels: found 1, expected at least 2"),
        (ClassifySettings, {"labels": (Label("a"), Label("a"))}, "'a', which is already label 1"),
        (
            ClassifySettings,
            {"labels": (Label("a"), Label("b")), "threshold": 1.5},
            "threshold: found 1.5",
        ),
        (ExtractSettings, {"fields": (Field("a"), Field("a"))}, "'a', which is already field 1"),
        (Field, {"name": "a", "type": "colour"}, "type: found 'colour', expected one of text, date"),
        (Field, {"name": "a", "type": "regex"}, "a field of type regex without a pattern"),
        (Field, {"name": "a", "type": "date", "pattern": "x"}, "in a field of type date"),
        (Field, {"name": "a", "type": "regex", "pattern": "["}, "is no regular expression"),
        (SummarizeSettings, {}, "neither 'sentences' nor 'words'"),
        (SummarizeSettings, {"sentences": 1, "words": 1}, "both 'sentences' and 'words'"),
        (SummarizeSettings, {"words": 0}, "words: found 0, expected at least 1"),
    ],
)
def test_settings_that_cannot_be(kind: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**arguments)
