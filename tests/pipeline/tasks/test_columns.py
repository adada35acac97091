"""Answers fit the columns that their task declares."""

import pyarrow as pa
import pytest

from pipeline.tasks import TASKS, ClassifySettings, ExtractSettings, Field, Label, SummarizeSettings, Task
from tests.pipeline.tasks.conftest import Ask

TEXT = "Invoice A-17\nDate: 31.12.2025\nTotal due: 1.234,50 EUR\n\nPlease pay the total due soon. Thank you very much."
EVERY: dict[str, Task] = {
    "classify": ClassifySettings((Label("invoice", "total due, please pay"), Label("lease")), threshold=0.0),
    "extract": ExtractSettings((Field("total", "money", "total due"), Field("iban", "iban"))),
    "summarize": SummarizeSettings(sentences=1),
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("text", [TEXT, " \n "])
def test_answers_are_rows_of_the_declared_columns(ask: Ask, name: str, text: str) -> None:
    kind, answer = TASKS[name], ask(EVERY[name], text)
    assert isinstance(EVERY[name], kind)
    assert list(answer.columns) == [column.name for column in kind.columns]
    table = pa.Table.from_pylist([dict(answer.columns)], schema=pa.schema(kind.columns))
    assert table.to_pylist() == [answer.columns]


def test_no_two_tasks_have_a_column_of_one_name() -> None:
    names = [column.name for kind in TASKS.values() for column in kind.columns]
    assert len(set(names)) == len(names)


def test_scores_are_between_0_and_1_with_six_decimals(ask: Ask) -> None:
    scores = [entry["score"] for entry in ask(EVERY["classify"], TEXT).columns["scores"]]
    scores += [entry["score"] for entry in ask(EVERY["summarize"], TEXT).columns["sentences"]]
    scores += [entry["score"] for entry in ask(EVERY["extract"], TEXT).columns["fields"] if entry["score"] is not None]
    assert len(scores) == 4
    assert all(0 <= score <= 1 and round(score, 6) == score for score in scores)
