"""Documents that were learned from are found: as a whole, inside another one, with another one inside."""

import random

import pytest

from pipeline.document import Parsed
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Work
from pipeline.learn.seen import Seen
from pipeline.quality.documents import Documents, overlaps
from pipeline.tasks import ClassifySettings, Label, SummarizeSettings
from pipeline.tasks.examples import Example


def prose(seed: int, words: int) -> str:
    chance = random.Random(seed)
    return " ".join(f"word{chance.randrange(300)}" for _ in range(words)) + "."


def found(text: str, *learned: str) -> list[str]:
    """What is told of one document."""
    truth = Example("eval.csv:2", "a", text=text)
    work = Work(Arrival("p", "p", 1), Parsed(text, "text/plain", "example"), 0.0)
    documents = Documents((truth,), (work,), 0, 0, 0.0)
    return [one.found for one in overlaps(documents, Seen.of(learned), "the head's")]


LONG, OTHER, SHORT = prose(1, 80), prose(2, 80), "How do I change the address of my account, please?"
WHOLE, NESTED = "its text is one of the head's", "it stands in one of the head's, or one of them in it"


@pytest.mark.parametrize(
    ("text", "learned", "told"),
    [
        (LONG, [LONG], [WHOLE]),
        (LONG.upper().replace(" ", " \n-- "), [OTHER, LONG], [WHOLE]),
        (SHORT, [OTHER, SHORT], [WHOLE]),
        (LONG, [OTHER, f"{prose(3, 400)} {LONG} {prose(4, 400)}"], [NESTED]),
        (f"{prose(3, 400)} {LONG} {prose(4, 400)}", [OTHER, LONG], [NESTED]),
        (f"{OTHER}\n{SHORT}\n{prose(5, 50)}", [SHORT], [NESTED]),
        (f"{OTHER} {SHORT} And more of it.", [SHORT], [NESTED]),
        (f"{OTHER}\nThank you.\n", ["Thank you."], []),  # stands anywhere
        (LONG, [OTHER, prose(6, 400)], []),
        (f"{LONG} {prose(7, 60)}", [f"{LONG} {prose(8, 60)}"], []),  # a common clause is no document inside another
        (SHORT, [], []),
    ],
)
def test_overlaps(text: str, learned: list[str], told: list[str]) -> None:
    assert found(text, *learned) == told


def test_the_examples_of_labels_are_known() -> None:
    labels = (Label("a", examples=(SHORT, LONG)), Label("b", "no example"))
    assert len(ClassifySettings(labels=labels).own_examples()) == 2
    assert not ClassifySettings(labels=(Label("a"), Label("b"))).own_examples()
    assert not SummarizeSettings(sentences=1).own_examples()
