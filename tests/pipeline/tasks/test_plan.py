"""Any document, through each task: places are exact, the plan covers the text once, and both are the same twice."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.answer.compute import answer_all
from pipeline.document import Parsed, Section
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Work
from pipeline.tasks import (
    ClassifySettings,
    ExtractSettings,
    Field,
    Label,
    SummarizeSettings,
    Task,
)
from pipeline.tasks import passages as module
from pipeline.text.chunk import borders
from tests.pipeline.tasks.bag import BagOfWords

EVERY: dict[str, Task] = {
    "classify": ClassifySettings((Label("lease", "rent of a flat"), Label("invoice", "total due")), threshold=0.0),
    "extract": ExtractSettings(
        (
            Field("total", "money", "total due"),
            Field("day", "date"),
            Field("who"),
            Field("n", "number"),
            Field("ref", "reference"),
            Field("re", "regex", pattern=r"\b\w{2,8} \w"),
        )
    ),
    "summarize": SummarizeSettings(sentences=3),
}
PIECES = st.sampled_from(
    [
        "Total due: EUR 1,234.00. ",
        "Ein Satz mit fünf Wörtern, und 12 Zahlen am 31.12.2025. ",
        "Invoice No. AB-2025/17 ",
        "# Heading\n\n",
        "a | 12 | 3,50 EUR\n",
        "\n\n",
        " \n\t\n ",
        "\u00a0\u2003",
        "漢字仮名交じり文。",
        "مرحبا بالعالم، ",
        "नमस्ते दुनिया। ",
        "e\u0301\u0323" * 9,
        "👩\u200d👩\u200d👧",
        "\U0001f1e9\U0001f1ea",
        "\u202etfel\u202c ",
        "x" * 130,
        "so, and ",
        "on and on ",
        "...",
        "\x00\x1f\ufeff",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=12), max_size=70).map("".join) | st.text(max_size=300)


@st.composite
def documents(draw: st.DrawFn) -> Parsed:
    """A text with pages and sections that begin anywhere in it."""
    text = draw(TEXTS)
    places = st.lists(st.integers(0, max(0, len(text) - 1)), max_size=6, unique=True).map(sorted)
    pages = tuple(sorted({0, *draw(places)})) if draw(st.booleans()) else ()
    sections = tuple(Section(at, draw(st.integers(0, 3)), "heading", "Title") for at in draw(places))
    return Parsed(text, "text/plain", "none", pages, sections=sections)


def row_of(task: str, document: Parsed) -> dict[str, Any]:
    model = BagOfWords()
    work = Work(Arrival("a.txt", "a.txt", 1), document, 0.0)
    row = answer_all([work], EVERY[task].on_embedding(model), model, lambda done, total: None)[0]
    assert row["state"] in ("done", "abstained")
    return {name: value for name, value in row.items() if name != "seconds"}


def check_places(value: object, document: Parsed) -> int:
    """How many places there are in a result; each is where its text stands, on the page on which it stands."""
    if isinstance(value, list):
        return sum(check_places(one, document) for one in value)
    if not isinstance(value, dict):
        return 0
    if "text" in value and "start" in value:
        assert document.text[value["start"] : value["end"]] == value["text"] != ""
        assert value["page"] == document.page_of(value["start"])
        return 1
    if "verbatim" in value and value["evidence"]:
        assert value["evidence"]["text"] == value["verbatim"]
    return sum(check_places(one, document) for one in value.values())


def check_plan(row: dict[str, Any], document: Parsed) -> None:
    text, chunks, model = document.text, row["chunks"], BagOfWords()
    assert "".join(text[chunk["start"] : chunk["end"]] for chunk in chunks) == text
    assert [0, *(chunk["end"] for chunk in chunks)] == [*(chunk["start"] for chunk in chunks), len(text)]
    assert all(chunk["start"] < chunk["end"] for chunk in chunks)
    assert {chunk["start"] for chunk in chunks} >= {at for at in borders(document) if at < len(text)}
    assert all(chunk["tokens"] <= model.context for chunk in chunks)
    assert (
        max(model.count_tokens([text[chunk["start"] : chunk["end"]] for chunk in chunks]), default=0) <= model.context
    )
    assert sum(chunk["tokens"] for chunk in chunks) == row["tokens"]
    for before, chunk in pairwise([{"start": 0}, *chunks]):
        assert before["start"] <= chunk["context_start"] <= chunk["start"]
    blank = [not text[chunk["start"] : chunk["end"]].strip() for chunk in chunks]
    assert blank == [chunk["passages"] == 0 == chunk["tokens"] for chunk in chunks]
    overlapping = sum(chunk["context_start"] < chunk["start"] for chunk in chunks)
    assert len(chunks) <= 1 + len(borders(document)) + overlapping + 4 * row["tokens"] / model.context


@pytest.mark.parametrize("task", EVERY)
@settings(max_examples=100, deadline=None)
@given(document=documents())
def test_any_document(task: str, document: Parsed) -> None:
    row = row_of(task, document)
    assert check_places(row, document) >= (1 if row["state"] == "done" else 0)
    check_plan(row, document)
    assert row == row_of(task, document)


@pytest.mark.parametrize("task", EVERY)
@settings(max_examples=40, deadline=None)
@given(document=documents())
def test_any_document_of_too_many_sentences(task: str, document: Parsed) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_PASSAGES", 3)
        row = row_of(task, document)
    check_places(row, document)
    check_plan(row, document)


def test_the_plan_says_what_is_read_on_both_sides_of_a_cut() -> None:
    document = Parsed("Rent is due " + "again and again " * 60 + ".", "text/plain", "none")
    cut = row_of("classify", document)["chunks"]
    assert len(cut) > 3
    assert all(chunk["context_start"] == chunk["start"] for chunk in cut)
    read = row_of("extract", document)["chunks"]
    assert all(before["start"] < chunk["context_start"] < chunk["start"] for before, chunk in pairwise(read))
