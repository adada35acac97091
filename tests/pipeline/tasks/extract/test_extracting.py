"""`extracting`: values of fields are found in unseen letters, absent ones are not, and the same bits come out."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.heads import HeadFile, read_head, write_head
from pipeline.tasks import ExtractSettings
from pipeline.tasks.examples import f1, tokens_of
from pipeline.tasks.extract.fit import Answer, learn
from pipeline.tasks.extract.head import THRESHOLD, FieldsHead, Least
from pipeline.tasks.extract.learn import measured
from pipeline.tasks.extract.promises import INVENTED, HeldOut, thresholds_of
from pipeline.tasks.summarize.judge import rouge_l
from tests.engine.isas import said_everywhere
from tests.pipeline.tasks.extract.made import FIELDS, MEANINGS, head, letter, taught

HALF = [Least(0.5, 0.5, many=False)] * 2  # the thresholds of both fields


class Nobody:
    """A model that is not asked for vectors."""

    context = 512

    def count_tokens(self, texts: object) -> list[int]:
        raise NotImplementedError

    def embed(self, texts: object) -> np.ndarray:
        raise NotImplementedError


def answered(its: FieldsHead, number: int, **keys: float) -> dict[str, tuple[str | None, float]]:
    """What the task answers to a letter by a head; `keys`: those of each field besides name and type."""
    fields = [{"name": field.name, "type": field.type, **keys} for field in FIELDS]
    task = ExtractSettings.from_json({"fields": fields})
    one = taught(number)
    rows = task.on_head(Nobody(), its.to_file()).answer(one.document, one.passages, one.vectors).columns["fields"]
    return {row["name"]: (row["value"], row["score"]) for row in rows}


def test_fields_of_unseen_letters_are_found_and_absent_ones_are_not() -> None:
    its, right = head(), 0
    for number in range(100, 140):
        found, values = answered(its, number), letter(number)[1]
        right += sum(found[field.name][0] == values.get(field.name) for field in FIELDS)
        assert all(0 <= score <= 1 for _, score in found.values())
    assert right >= 76


def test_what_is_measured_was_not_seen() -> None:
    """Values that nothing tells are right by chance, as those of letters that were learned from would not be."""
    letters = [taught(number) for number in range(24)]
    found = measured(learn(letters, FIELDS, MEANINGS).unseen, FIELDS, HALF)
    assert found.fields["due"].right >= 16
    assert found.fields["due"].absent == 6
    assert found.fields["due"].answered_where_absent <= 2
    assert found.calibration_error < 0.2
    dates = [
        [value for one in taught(n).document.text.split("\n\n") for value in [one] if "2" in one] for n in range(24)
    ]
    chance = [
        type(one)(one.document, one.passages, one.vectors, [one.answers[0], [Answer(_date(dates[n], n))]])
        for n, one in enumerate(letters)
    ]
    assert measured(learn(chance, FIELDS, MEANINGS).unseen, FIELDS, HALF).fields["due"].right <= 12


def _date(lines: list[str], number: int) -> str:
    """One of the dates of a letter, by its number alone."""
    words = lines[number * 7 // 3 % len(lines)].rstrip(".").split()
    return f"{words[-1]}-{ {'June': '06', 'March': '03'}[words[-2]] }-{int(words[-3]):02}"


def test_a_field_of_which_nothing_is_said_is_not_learned_from_a_letter() -> None:
    letters = [taught(number) for number in range(24)]
    some = [
        type(one)(one.document, one.passages, one.vectors, [one.answers[0], one.answers[1] if n < 12 else None])
        for n, one in enumerate(letters)
    ]
    unseen = learn(some, FIELDS, MEANINGS).unseen
    assert sum(one.field == 1 for one in unseen) == 12
    assert sum(one.field == 0 for one in unseen) == 24


def test_a_value_must_be_more_probable_than_that_there_is_none() -> None:
    """Each field has 30 right answers and ten wrong ones, of which none, five and all are to documents without it."""
    wrong = [
        HeldOut(number, field, None, 0.0, 0.0, number >= absent)
        for field, absent in enumerate((0, 5, 10))
        for number in range(10)
    ]
    right = [HeldOut(number, field, None, 0.0, 1.0, True) for field in range(3) for number in range(10, 40)]
    usual = (5 + 10 + 1) / (3 * 10 + 1)
    for threshold, absent in zip(thresholds_of([*wrong, *right], 3), (0, 5, 10), strict=True):
        share = (absent + usual) / 11
        assert threshold == pytest.approx(INVENTED * (1 - threshold) * share, abs=1e-5)
    assert thresholds_of(right, 3) == [INVENTED / (1 + INVENTED)] * 3


def test_what_is_given_is_what_the_head_or_the_job_says() -> None:
    its = head()
    letters = range(100, 140)
    found = [answered(its, number)["due"] for number in letters]
    assert {value is not None for value, _ in found} == {True, False}
    assert all((value is not None) == (score >= its.thresholds[1]) for value, score in found)
    sure = [answered(its, number, threshold=0.99)["due"] for number in letters]
    assert all((value is not None) == (score >= 0.99) for value, score in sure)
    assert [score for _, score in sure] == [score for _, score in found]


def test_a_learned_threshold_says_nothing_of_further_values() -> None:
    """With the best value all others are given that score 0.35, also below what was learned for the best."""
    its, names, between = head(), ("person", "due"), 0
    its = replace(its, levels=tuple(level + 3 for level in its.levels))  # so that further values score enough
    strict, open_ = (replace(its, thresholds=(least, least)) for least in (0.6, 0.0))
    assert strict.least(0, None, many=True) == Least(0.6, THRESHOLD, many=True)
    assert strict.least(0, 0.2, many=True) == Least(0.2, 0.2, many=True)
    for number in range(100, 160):
        few, every = (several(one, number) for one in (strict, open_))
        for name in names:
            best = max(score for _, score in every[name])
            assert few[name] == (every[name] if best >= 0.6 else [(None, best)])
            assert min((score for _, score in every[name] if score < best), default=1) >= THRESHOLD
            between += best >= 0.6 and any(score < 0.6 for _, score in few[name])
    assert between


def several(its: FieldsHead, number: int) -> dict[str, list[tuple[str | None, float]]]:
    """The values and scores that the task gives for fields that may have several."""
    fields = [{"name": field.name, "type": field.type, "many": True} for field in FIELDS]
    one, found = taught(number), dict[str, list[tuple[str | None, float]]]()
    task = ExtractSettings.from_json({"fields": fields}).on_head(Nobody(), its.to_file())
    for row in task.answer(one.document, one.passages, one.vectors).columns["fields"]:
        found.setdefault(row["name"], []).append((row["value"], row["score"]))
    return found


def test_a_head_that_has_learned_no_thresholds_can_be_used() -> None:
    file = head().to_file()
    fields = [{key: value for key, value in field.items() if key != "threshold"} for field in file.facts["fields"]]
    assert FieldsHead.from_file(HeadFile({**file.facts, "fields": fields}, file.arrays)).thresholds == (THRESHOLD,) * 2


def test_a_head_says_the_same_from_its_file(tmp_path: Path) -> None:
    its = head()
    path = tmp_path / "a.head"
    write_head(path, its.to_file())
    again = FieldsHead.from_file(read_head(path))
    assert again.to_file().to_bytes() == path.read_bytes()
    assert answered(again, 7) == answered(its, 7)
    assert path.stat().st_size < 200_000


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"fields": [{"name": "other", "type": "text"}]}, "no field 'other', but person, due"),
        ({"fields": [{"name": "due", "type": "text"}]}, "the field 'due' of type date, not text"),
    ],
)
def test_a_head_for_other_fields_is_refused(change: dict[str, object], told: str) -> None:
    task = ExtractSettings.from_json(change)
    with pytest.raises(Exception, match=told):
        task.check_head(head().to_file())
    ExtractSettings.from_json({"fields": [{"name": "due", "type": "date"}]}).check_head(head().to_file())


def test_the_same_bits_on_every_instruction_set_and_with_any_threads() -> None:
    assert len(said_everywhere("-m", "tests.pipeline.tasks.extract.made")) == 1


def test_agreement() -> None:
    assert tokens_of("The  laws,\nof Ireland") == ["the", "laws", "of", "ireland"]
    a, b = Counter(["a", "b", "b", "c"]), Counter(["b", "b", "d"])
    assert f1(a, b) == pytest.approx(2 * 2 / 7)
    assert f1(a, Counter()) == 0
    assert f1(Counter("a"), Counter("abcdefgh"), 0.5) == 0
    assert rouge_l(["the", "cat", "sat", "down"], ["the", "cat", "was", "sat", "on"]) == pytest.approx(2 * 3 / 9)
    assert rouge_l([], ["a"]) == 0
