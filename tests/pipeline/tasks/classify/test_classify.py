"""Classify: the label whose words the document has, its evidence, and abstaining."""

import pytest

from pipeline.tasks import ClassifySettings, Label
from tests.pipeline.tasks.conftest import Ask

LABELS = (
    Label("lease", "landlord lets premises to a tenant for rent"),
    Label("invoice", "total amount due, please pay the invoice", ("Rechnung Gesamtbetrag zahlbar bis",)),
    Label("complaint", "customer is dissatisfied and demands a remedy"),
)
LEASE = (
    "Lease\n\nThe landlord lets the premises to the tenant. The tenant pays rent for the premises to the landlord each "
    "month. Keys are handed over on Monday.\n\nNothing else was agreed here."
)


def test_the_nearest_label_and_its_evidence(ask: Ask) -> None:
    answer = ask(ClassifySettings(LABELS), LEASE)
    assert answer.columns["label"] == "lease"
    assert answer.columns["score"] > 0.5
    assert answer.columns["scores"][0] == {"label": "lease", "score": answer.columns["score"]}
    assert answer.evidence[0].text == "The tenant pays rent for the premises to the landlord each month."
    assert "Nothing else was agreed here." not in [evidence.text for evidence in answer.evidence]


def test_an_example_speaks_for_its_label(ask: Ask) -> None:
    assert (
        ask(ClassifySettings(LABELS), "Rechnung\nGesamtbetrag 12 EUR, zahlbar bis Montag.").columns["label"]
        == "invoice"
    )


def test_the_order_of_labels_changes_nothing(ask: Ask) -> None:
    answers = [ask(ClassifySettings(labels), LEASE) for labels in (LABELS, LABELS[::-1])]
    assert answers[0].columns == answers[1].columns


def test_a_document_about_something_else_is_abstained(ask: Ask) -> None:
    answer = ask(ClassifySettings(LABELS), "Fish pie, peas, soup, Tuesday. Pasta, salad, Wednesday.")
    assert answer.abstained
    assert answer.columns["label"] is None
    assert answer.columns["score"] < 0.3
    assert answer.reason is not None
    assert "less than 0.3" in answer.reason


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_the_threshold_decides(ask: Ask, threshold: float) -> None:
    assert ask(ClassifySettings(LABELS, threshold), LEASE).abstained == (threshold == 1.0)


def test_a_title_counts_and_so_does_the_end_of_a_long_document(ask: Ask) -> None:
    filler = "\n\n".join(f"Paragraph {i} says nothing that matters much." for i in range(300))
    title = ask(ClassifySettings(LABELS), f"Landlord lets premises to tenant for rent\n\n{filler}")
    end = ask(ClassifySettings(LABELS, 0.0), f"{filler}\n\n{LEASE}")
    assert (title.columns["label"], end.columns["label"]) == ("lease", "lease")


def test_scores_and_none_of_them_sum_to_one(ask: Ask) -> None:
    total = sum(entry["score"] for entry in ask(ClassifySettings(LABELS), LEASE).columns["scores"])
    assert 0.9 < total < 1


def test_a_page_is_named(ask: Ask) -> None:
    text = "Page of nothing.\n\n" + LEASE
    answer = ask(ClassifySettings(LABELS), text, (0, text.index("Lease")))
    assert answer.evidence[0].page == 2
