"""Runs of `ask` whose answers are held to values, on a small random model: whatever it would like to write, a value of
the document comes out, with its place, and the same one when the row is made again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import pipeline
from pipeline import Choice, RunPlan, Site
from pipeline.tasks import AskSettings
from tests.pipeline.conftest import make_plan
from tests.pipeline.test_run_writing import LETTERS, LONG, USED, drop_all, go, rows_of

SCHEMA = {
    "type": "object",
    "properties": {
        "total": {"type": "number", "format": "value", "x-type": "money"},
        "due": {"type": ["string", "null"], "format": "value", "x-type": "date"},
        "all": {"type": "array", "items": {"type": "integer", "format": "value"}, "maxItems": 3},
        "who": {"type": "string", "format": "quote", "maxLength": 40},
    },
}
MANY = "\n".join(f"{number}.50 EUR on {number % 28 + 1} May 2026" for number in range(200, 900))


@pytest.fixture
def plan(site: Site, tiny_decoder: Path) -> RunPlan:
    site.models.mkdir()
    path = site.models / "tiny.gguf"
    path.write_bytes(tiny_decoder.read_bytes())
    return make_plan(site, path, task=AskSettings("What is due?", json.dumps(SCHEMA)), writing=USED)


def test_what_comes_out_stands_in_the_document(plan: RunPlan) -> None:
    files: dict[str, bytes | str] = {
        **LETTERS,
        "many.txt": MANY,
        "table.txt": MANY[:400],
        "long.txt": LONG,
        "none.txt": "Nothing is due.\n",
    }
    drop_all(plan, files)
    go(plan)
    rows = rows_of(plan)
    for number in range(1, 7):
        row = rows[f"{number}.txt"]
        answer, places = json.loads(row["answer"]), {one["pointer"]: one["evidence"] for one in row["values"]}
        assert (answer["total"], places["/total"]["text"]) == (number * 10 + 5, f"{number}5.00 EUR")
        assert answer["due"] in (None, f"2026-05-0{number + 1}")
        assert set(answer["all"]) <= {number, number * 10 + 5}
        for place in filter(None, places.values()):
            assert LETTERS[f"{number}.txt"][place["start"] : place["end"]] == place["text"]
    assert rows["none.txt"]["failure"] == "unanswered"
    assert "no value of the type money stands in what was read" in rows["none.txt"]["reason"]
    assert rows["table.txt"]["state"] == "done"
    for name in ("table.txt", "many.txt", "long.txt"):
        assert rows[name]["state"] in ("done", "abstained") or rows[name]["failure"] == "unanswered"
        if rows[name]["state"] == "done":
            total = next(one for one in rows[name]["values"] if one["pointer"] == "/total")
            place = total["evidence"]
            assert files[name][place["start"] : place["end"]] == place["text"]
            assert float(place["text"].split()[0]) == float(total["value"])
    replay = pipeline.replay(plan.site, Choice())
    assert {row.verdict.value for row in replay.rows} == {"identical"}
    assert pipeline.verify(plan.site).ok


def test_answers_do_not_hang_on_what_travels_together(site: Site, plan: RunPlan) -> None:
    drop_all(plan, {**LETTERS})
    go(plan)
    other = make_plan(site, plan.model.path, "other", task=plan.task, writing=replace(USED, cache_mib=8))
    for name, body in list(LETTERS.items())[:2]:
        drop_all(other, {name: body})
        go(other)
    first, second = rows_of(plan), rows_of(other)
    columns = ("state", "reason", "answer", "values", "evidence", "tokens")
    assert all(first[name][column] == row[column] for name, row in second.items() for column in columns)
