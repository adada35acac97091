"""Stems of words as Porter's paper gives them, and ROUGE-L in each way in which it is counted."""

import pytest

from tests.benchmarks.porter import stem
from tests.benchmarks.rouge import points

STEMS = """
caresses caress, ponies poni, ties ti, caress caress, cats cat, feed feed, agreed agre, plastered plaster,
bled bled, motoring motor, sing sing, conflated conflat, troubled troubl, sized size, hopping hop, tanned tan,
falling fall, hissing hiss, fizzed fizz, failing fail, filing file, happy happi, sky sky, relational relat,
conditional condit, rational ration, valenci valenc, hesitanci hesit, digitizer digit, conformabli conform,
radicalli radic, differentli differ, vileli vile, analogousli analog, vietnamization vietnam,
predication predic, operator oper, feudalism feudal, decisiveness decis, hopefulness hope, callousness callous,
formaliti formal, sensitiviti sensit, sensibiliti sensibl, triplicate triplic, formative form, formalize formal,
electriciti electr, electrical electr, hopeful hope, goodness good, revival reviv, allowance allow,
inference infer, airliner airlin, gyroscopic gyroscop, adjustable adjust, defensible defens, irritant irrit,
replacement replac, adjustment adjust, dependent depend, adoption adopt, communism commun, activate activ,
angulariti angular, homologous homolog, effective effect, bowdlerize bowdler, probate probat, rate rate,
cease ceas, controlling control, roll roll, is is, generalizations gener, oscillators oscil
"""


@pytest.mark.parametrize("pair", STEMS.split(","), ids=str.strip)
def test_stems_are_those_of_the_paper(pair: str) -> None:
    word, its = pair.split()
    assert stem(word) == its


def test_a_summary_is_counted_in_each_way() -> None:
    found = points("We train networks.", ["They trained a network", "networks train we"])
    assert found.plain == pytest.approx(2 * 1 / (3 + 3))  # "train", or another word alone, of the second
    assert found.stemmed == pytest.approx(2 * 2 / (3 + 4))  # "train network" of the first
    assert found.own == pytest.approx(2 * 1 / (3 + 3))


def test_the_way_of_scitldr_takes_the_reference_with_most_words_in_common() -> None:
    found = points("a b c d", ["d c b a", "a b"])
    assert found.plain == pytest.approx(2 * 2 / (4 + 2))
    assert found.own == pytest.approx(2 * 1 / (4 + 4))


def test_nothing_is_shared_with_an_empty_text() -> None:
    found = points("", ["a b"])
    assert (found.plain, found.stemmed, found.own) == (0.0, 0.0, 0.0)
