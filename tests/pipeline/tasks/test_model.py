"""The tasks with the real model: meaning rather than words, in English and German. Needs CLOISTER_MODEL."""

from pathlib import Path

import pytest

from pipeline.document import Parsed
from pipeline.tasks import (
    Answer,
    ClassifySettings,
    Embedder,
    ExtractSettings,
    Field,
    Label,
    SummarizeSettings,
    Task,
)


@pytest.fixture(scope="module")
def model(real_model: Path) -> Embedder:
    import engine

    return engine.load(real_model)


def ask(settings: Task, text: str, model: Embedder) -> Answer:
    document, task = Parsed(text, "text/plain", "none"), settings.on_embedding(model)
    spans = task.spans(document)
    return task.answer(document, spans, model.embed([text[span.start : span.end] for span in spans]))


LABELS = ClassifySettings(
    (
        Label("nda", "a non-disclosure agreement: confidential information must be kept secret"),
        Label(
            "lease", "a lease: a landlord lets rooms to a tenant", ("Mietvertrag. Der Vermieter überlässt die Räume.",)
        ),
        Label("complaint", "a customer complains about goods or a service"),
    )
)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Neither side will reveal what it learns about the other's trade secrets to anybody.", "nda"),
        ("The flat is rented for one year. The renter pays 700 euros a month and a deposit.", "lease"),
        ("Mietvertrag über eine Wohnung\n\nDer Vermieter vermietet dem Mieter die Wohnung.", "lease"),
        ("I am a very unhappy customer: the goods broke after a week and your service never answers.", "complaint"),
        ("Whisk the eggs, add flour and milk, and bake for twenty minutes.", None),
    ],
)
def test_classify_by_meaning(model: Embedder, text: str, label: str | None) -> None:
    assert ask(LABELS, text, model).columns["label"] == label


def test_extract_by_meaning(model: Embedder) -> None:
    text = (
        "The equipment was delivered on 3 March 2025 and taken into use a week later. This contract ends on "
        "31 December 2027. It is construed according to the statutes of Norway. The buyer pays 4,500 EUR in all."
    )
    fields = (
        Field("expiry", "date", "when the contract expires"),
        Field("law", "text", "governing law: whose law applies", threshold=0.1),
    )
    answer = ask(ExtractSettings(fields), text, model)
    assert [row["value"] for row in answer.columns["fields"]] == [
        "2027-12-31",
        "It is construed according to the statutes of Norway.",
    ]


def test_fields_that_are_not_there_stay_empty(model: Embedder) -> None:
    text = (
        "Invoice number: INV-20931\nInvoice date: 28 September 2026\n\nDear Mr. Price,\n\n"
        "we charge 7,692.00 GBP for 14 days of work, including 20 % VAT. Please pay by 28 October 2026."
    )
    fields = (
        Field("bed", "number", "Bettnummer, bed number"),
        Field("policy", "reference", "policy number, Versicherungsnummer"),
        Field("patient", "text", "name of the patient"),
        Field("deductible", "money", "insurance deductible, Selbstbeteiligung"),
        Field("invoice", "reference", "invoice number"),
    )
    rows = ask(ExtractSettings(fields), text, model).columns["fields"]
    assert [row["value"] for row in rows] == [None, None, None, None, "INV-20931"]
    assert all(row["note"].startswith("nothing that fits well enough; nearest was ") for row in rows[:4])


def test_summarize_by_meaning(model: Embedder) -> None:
    text = (
        "The bridge over the Weir was inspected in August. Its steel is sound, but the foundations have been washed "
        "out by floods. The inspector recommends closing the bridge to lorries until the foundations are repaired. "
        "Lunch was taken at the inn. The weather was fine all day and the birds sang."
    )
    summary = ask(SummarizeSettings(sentences=2), text, model).columns["summary"]
    assert "bridge" in summary
    assert "Lunch" not in summary
    assert "birds" not in summary


def test_the_same_in_any_batch(model: Embedder) -> None:
    texts = ["Short.", "The flat is rented for one year. " * 40, "Mietvertrag über eine Wohnung."]
    alone = [ask(LABELS, text, model) for text in texts]
    task = LABELS.on_embedding(model)
    documents = [Parsed(text, "text/plain", "none") for text in texts]
    spans = [task.spans(document) for document in documents]
    vectors = model.embed([d.text[s.start : s.end] for d, its in zip(documents, spans, strict=True) for s in its])
    at, together = 0, []
    for document, its in zip(documents, spans, strict=True):
        together.append(task.answer(document, its, vectors[at : at + len(its)]))
        at += len(its)
    assert alone == together
