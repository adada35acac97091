"""Runs on a model that writes: a small random one, whose answers mean nothing, but are held to their form."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
import engine
import pipeline
from pipeline import Choice, RunPlan, Site
from pipeline.answer.models import writing_of
from pipeline.tasks import ExtractSettings, Field, SummarizeSettings, Writing
from tests.pipeline.conftest import Witness, make_plan
from tests.pipeline.test_containers import zipped

FIELDS = ExtractSettings((Field("total", "money", "what is due"), Field("who"), Field("day", "date")))
LETTERS = {
    f"{number}.txt": f"Invoice {number}\n\nTotal due: {number}5.00 EUR by {number + 1} May 2026.\nAda Keller, Ulm.\n"
    for number in range(1, 7)
}
LONG = "\n\n".join(
    f"Paragraph {number}: the tenant pays {number}0.00 EUR on {number} June 2026." for number in range(90)
)
USED = Writing(context=1500, max_tokens=300, cache_mib=64)

Row = dict[str, Any]


@pytest.fixture
def plan(site: Site, tiny_decoder: Path) -> RunPlan:
    site.models.mkdir()
    path = site.models / "tiny.gguf"
    path.write_bytes(tiny_decoder.read_bytes())
    return make_plan(site, path, task=FIELDS, writing=USED)


def go(plan: RunPlan, stop: Callable[[], bool] = lambda: False) -> pipeline.RunReport:
    return pipeline.run(plan, observer=Witness(), stop=stop)


def drop_all(plan: RunPlan, files: dict[str, bytes | str]) -> None:
    for name, body in files.items():
        (plan.input.folder / name).write_bytes(body.encode() if isinstance(body, str) else body)


def rows_of(plan: RunPlan) -> dict[str, Row]:
    return {row["path"]: row for row in pipeline.results(plan.site, plan.job)}


def digests(plan: RunPlan) -> dict[str, str]:
    read = audit.read_entries(plan.site.audit, plan.site.public_key)
    return {entry["path"]: entry["result_sha256"] for _, entry in read if entry["type"] == "document"}


def test_a_run_its_log_and_its_rows_made_again(plan: RunPlan) -> None:
    more = {
        "post.zip": zipped({"in.txt": LETTERS["1.txt"].encode() + b"In.\n"}),
        "copy.txt": LETTERS["2.txt"],
        "long.txt": LONG,
    }
    drop_all(plan, LETTERS | more)
    report = go(plan)
    assert not report.interrupted
    rows = rows_of(plan)
    assert {rows[name]["state"] for name in LETTERS} <= {"done", "abstained", "duplicate"}
    assert len(rows["long.txt"]["chunks"]) > 1
    for name, text in {**LETTERS, "long.txt": LONG}.items():
        for field in rows[name].get("fields") or ():
            if place := field["evidence"]:
                assert text[place["start"] : place["end"]] == field["verbatim"] == place["text"]
                assert 0 <= field["score"] <= 1
            else:
                assert field["note"]
    replay = pipeline.replay(plan.site, Choice())
    assert {row.path: row.verdict.value for row in replay.rows if row.verdict.value != "identical"} == {
        "copy.txt": "unreplayable"
    }
    assert pipeline.verify(plan.site).ok
    (started,) = (e for _, e in audit.read_entries(plan.site.audit, plan.site.public_key) if e["type"] == "settings")
    assert '"writing":{"context":1500,"kv":"float16","max_tokens":300,"prompts":2}' in started["text"]
    assert go(plan).known == 0


def test_rows_do_not_hang_on_what_travels_together(site: Site, plan: RunPlan) -> None:
    drop_all(plan, LETTERS)
    go(plan)
    other = make_plan(site, plan.model.path, "other", task=FIELDS, writing=replace(USED, cache_mib=8))
    for name, body in list(LETTERS.items())[:3]:
        drop_all(other, {name: body})
        go(other)
    first, second = rows_of(plan), rows_of(other)
    columns = ("state", "reason", "fields", "evidence", "chunks", "tokens")
    assert all(first[name][column] == row[column] for name, row in second.items() for column in columns)


def test_a_run_that_is_stopped_goes_on_to_the_same_rows(site: Site, plan: RunPlan) -> None:
    undisturbed = make_plan(site, plan.model.path, "other", task=FIELDS, writing=USED)
    drop_all(undisturbed, LETTERS)
    go(undisturbed)
    drop_all(plan, LETTERS)
    left, runs = len(LETTERS), 0
    while left:
        looks = iter(range(10 + 25 * runs))
        report = go(plan, lambda looks=looks: next(looks, None) is None)  # type: ignore[misc]
        left, runs = report.counts["pending"], runs + 1
        assert report.interrupted == bool(left)
    assert runs > 1
    first, second = rows_of(undisturbed), rows_of(plan)
    assert all(first[name]["fields"] == second[name]["fields"] for name in LETTERS)


def test_parts_are_committed_while_others_are_on_their_way(plan: RunPlan) -> None:
    drop_all(plan, LETTERS)
    report = go(replace(plan, part_documents=2))
    assert len(report.parts) == 3
    assert sum(report.counts.values()) == len(LETTERS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"writing": Writing(cache_mib=1)}, r"holds \d+ tokens, a context has 4096; raise model.cache_mib"),
        ({"writing": Writing(context=300)}, "the instruction of the task has .* no room for a document"),
        ({"writing": Writing(kv="int4")}, "kv: found 'int4', expected one of float16, int8"),
    ],
)
def test_what_cannot_be_done_is_one_message_and_touches_nothing(
    plan: RunPlan, changes: dict[str, Any], message: str
) -> None:
    drop_all(plan, LETTERS)
    with pytest.raises(pipeline.ModelRefusedError, match=message):
        go(replace(plan, **changes))
    assert len(list(plan.input.folder.iterdir())) == len(LETTERS)
    assert audit.read_entries(plan.site.audit, plan.site.public_key) is not None


def test_a_long_document_is_summarized(plan: RunPlan) -> None:
    plan = replace(plan, task=SummarizeSettings(sentences=1))
    drop_all(plan, {"long.txt": LONG})
    go(plan)
    row = rows_of(plan)["long.txt"]
    assert row["state"] == "done" or row["failure"] == "unanswered"
    for sentence in row["sentences"] or ():
        assert all(LONG[p["start"] : p["end"]] == p["text"] for p in sentence["passages"])
    assert pipeline.replay(plan.site, Choice()).counts["identical"] == 1


def test_how_a_model_writes_is_part_of_what_a_run_is_told(plan: RunPlan, tiny_model: Path) -> None:
    assert writing_of(replace(plan, writing=None)) == Writing()
    assert writing_of(plan) == USED
    embeds = replace(plan, model=replace(plan.model, path=tiny_model))
    assert writing_of(replace(embeds, writing=None)) is None
    assert engine.head_of(plan.model.path) == "text"


def test_answers_that_are_not_over_are_failures_that_come_out_again(plan: RunPlan) -> None:
    plan = replace(plan, writing=replace(USED, max_tokens=16))
    drop_all(plan, {name: LETTERS[name] for name in ("1.txt", "2.txt")})
    report = go(plan)
    assert report.counts["failed"] == 2
    assert {row["failure"] for row in rows_of(plan).values()} == {"unanswered"}
    assert all(row["reason"].startswith("the answer was not over after 16 tokens: ") for row in rows_of(plan).values())
    assert pipeline.replay(plan.site, Choice()).counts["identical"] == 2


def test_a_replay_without_memory_for_a_context_is_no_verdict(plan: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    drop_all(plan, {"1.txt": LETTERS["1.txt"]})
    go(plan)
    monkeypatch.setattr("engine.generate.pages.free_bytes", lambda: 1 << 20)
    (row,) = pipeline.replay(plan.site, Choice()).rows
    assert (row.verdict.value, row.differs) == ("incomparable", ("model",))
    assert "raise model.cache_mib" in row.reason
