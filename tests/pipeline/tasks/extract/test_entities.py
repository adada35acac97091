"""Entities from the labels of tokens: every scheme, words of several tokens, windows that overlap."""

import numpy as np
import pytest

from pipeline.tasks.extract.own import Entity, entities, marks_of, merged, types_of, words

BILOU = ["O", *(f"{mark}-{kind}" for kind in ("PER", "ORG") for mark in "BILU")]
BIOES = [label.replace("L-", "E-").replace("U-", "S-") for label in BILOU]
BIO = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG"]
IO = ["PER", "O", "E-MAIL"]
TEXT = "Anna Maria Bly of Acme wrote to Jo"


def tokens(text: str, parts: int = 100) -> np.ndarray:
    """Tokens of at most so many characters, each of one word of `text`."""
    spans, at = [], 0
    for word in text.split(" "):
        spans += [(i, min(i + parts, at + len(word))) for i in range(at, at + len(word), parts)]
        at += len(word) + 1
    return np.array(spans, np.int32)


def said(labels: list[str], each: list[str], score: float = 0.75) -> np.ndarray:
    """The probabilities with which a model says these labels of the tokens."""
    rows = np.full((len(each), len(labels)), (1 - score) / (len(labels) - 1), np.float32)
    rows[range(len(each)), [labels.index(label) for label in each]] = score
    return rows


def found(text: str, labels: list[str], each: list[str]) -> list[tuple[str, str]]:
    tagged = tokens(text), said(labels, each)
    return [(entity.type, text[entity.start : entity.end]) for entity in entities(text, tagged, labels)]


@pytest.mark.parametrize(
    ("labels", "each"),
    [
        (BIO, ["B-PER", "I-PER", "I-PER", "O", "B-ORG", "O", "O", "B-PER"]),
        (BIO, ["I-PER", "I-PER", "I-PER", "O", "I-ORG", "O", "O", "I-PER"]),  # IOB1 begins with an I
        (BILOU, ["B-PER", "I-PER", "L-PER", "O", "U-ORG", "O", "O", "U-PER"]),
        (BILOU, ["B-PER", "I-PER", "I-PER", "O", "B-ORG", "O", "O", "L-PER"]),  # not well formed, and clear
        (BIOES, ["B-PER", "I-PER", "E-PER", "O", "S-ORG", "O", "O", "S-PER"]),
        (["O", "PER", "ORG"], ["PER", "PER", "PER", "O", "ORG", "O", "O", "PER"]),
    ],
)
def test_each_scheme(labels: list[str], each: list[str]) -> None:
    assert found(TEXT, labels, each) == [("PER", "Anna Maria Bly"), ("ORG", "Acme"), ("PER", "Jo")]


def test_neighbours_are_told_apart_by_their_marks() -> None:
    each = ["B-PER", "B-PER", "I-PER", "I-ORG", "I-ORG", "O", "O", "O"]
    assert found(TEXT, BIO, each) == [("PER", "Anna"), ("PER", "Maria Bly"), ("ORG", "of Acme")]
    each = ["U-PER", "L-PER", "I-PER", "L-PER", "U-ORG", "B-ORG", "O", "I-ORG"]
    pieces = [("PER", "Anna"), ("PER", "Maria"), ("PER", "Bly of"), ("ORG", "Acme"), ("ORG", "wrote"), ("ORG", "Jo")]
    assert found(TEXT, BILOU, each) == pieces


def test_labels_of_which_one_has_no_mark_are_types() -> None:
    assert marks_of(IO) == [("I", "PER"), None, ("I", "E-MAIL")]
    assert types_of(IO) == ["PER", "E-MAIL"]
    assert marks_of(BIO)[1:3] == [("B", "PER"), ("I", "PER")]
    assert types_of(BILOU) == types_of(BIOES) == ["PER", "ORG"]


def test_a_word_has_the_label_of_its_first_token() -> None:
    text = "Annabella Bly"
    tagged = tokens(text, 4), said(BIO, ["B-PER", "O", "B-ORG", "I-PER"])
    (entity,) = entities(text, tagged, BIO)
    assert (text[entity.start : entity.end], entity.score) == (text, 0.75)


def test_the_score_is_the_mean_of_the_words() -> None:
    shares = np.concatenate([said(BIO, ["B-PER"], 0.5), said(BIO, ["I-PER"], 0.75)])
    assert entities("Anna Bly", (tokens("Anna Bly"), shares), BIO)[0].score == 0.625


def test_where_words_begin() -> None:
    spans = [(0, 4), (4, 4), (4, 6), (6, 7), (7, 9), (10, 12), (12, 12)]  # with tokens of nothing
    assert [(word.start, word.end, word.token) for word in words("Müller-Lüd ab", spans)][:3] == [
        (0, 6, 0), (6, 7, 3), (7, 9, 4),
    ]  # fmt: skip
    chinese = "王明在"  # each token is a word where a script has no spaces
    assert [word.token for word in words(chinese, [(0, 1), (1, 2), (2, 3)])] == [0, 1, 2]
    assert [word.token for word in words("é", [(0, 1), (0, 1)])] == [0]  # two tokens, bytes of one character


def test_a_text_without_tokens_has_none() -> None:
    assert entities("", (np.zeros((0, 2), np.int32), np.zeros((0, 5), np.float32)), BIO) == []


def test_what_two_windows_found_is_one() -> None:
    cut, whole = Entity("PER", 8, 12, 0.9), Entity("PER", 5, 12, 0.6)
    other, again = Entity("ORG", 5, 12, 0.5), Entity("PER", 5, 12, 0.7)
    assert merged([cut, whole, other, again, Entity("PER", 12, 14, 0.5)]) == [other, again, Entity("PER", 12, 14, 0.5)]
