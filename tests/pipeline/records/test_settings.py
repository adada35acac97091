"""The settings in the log: the very text that the digest is of, once, and a plan can be made of them again."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import audit
from pipeline import RunPlan, run
from pipeline.plan import Ocr
from pipeline.records.settings import KeptSettings, job_digest, restored_plan, settings_records, settings_text
from pipeline.records.types import SettingsPiece
from pipeline.tasks import (
    PROMPTS,
    AskSettings,
    ClassifySettings,
    ExtractSettings,
    Field,
    Label,
    SummarizeSettings,
    Task,
    Writing,
)
from tests.pipeline.conftest import Witness, make_plan

MODEL = "ab" * 32
TASKS = (
    ClassifySettings((Label("a", "one", ("é \U0001f600", "x")), Label("b")), threshold=0.25),
    ExtractSettings((Field("total", "money"), Field("code", "regex", "a code", r"[A-Z]\d+"))),
    SummarizeSettings(words=120),
    AskSettings("Who?", json.dumps({"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "null"}}})),
)


def entries(plan: RunPlan, kind: str) -> list[dict[str, object]]:
    read = audit.read_entries(plan.site.audit, plan.site.public_key)
    return [dict(entry) for _, entry in read if entry["type"] == kind]


def test_a_run_keeps_its_settings_once(plan: RunPlan, drop: Callable[[str, str], Path]) -> None:
    drop("a.txt", "The landlord leases the flat.\n")
    run(plan, observer=Witness())
    drop("b.txt", "Invoice: total due.\n")
    run(plan, observer=Witness())
    (kept,) = entries(plan, "settings")
    assert {entry["job_digest"] for entry in entries(plan, "document")} == {kept["job_digest"]}
    assert hashlib.sha256(str(kept["text"]).encode()).hexdigest() == kept["job_digest"]


def test_other_settings_are_kept_too(plan: RunPlan, tiny_model: Path) -> None:
    run(plan, observer=Witness())
    other = make_plan(plan.site, tiny_model, task=SummarizeSettings(sentences=2))
    run(other, observer=Witness())
    assert [json.loads(str(entry["text"]))["task"]["type"] for entry in entries(plan, "settings")] == [
        "classify",
        "summarize",
    ]


@pytest.mark.parametrize("task", TASKS, ids=["classify", "extract", "summarize", "ask"])
def test_a_plan_is_made_of_them_again(plan: RunPlan, tiny_model: Path, tmp_path: Path, task: Task) -> None:
    ocr = {"hidden": "review", "ocr": Ocr(True, ("deu",))}
    made = make_plan(plan.site, tiny_model, task=task, input=type(plan.input)(tmp_path, ("*",), 1.0, "keep", **ocr))
    kept = KeptSettings()
    for record in settings_records(made, MODEL):
        kept.take(record)
    values = kept.get(job_digest(made, MODEL))
    assert values is not None
    restored = restored_plan(values, plan.site, tmp_path, made.model)
    assert (restored.task, restored.input.hidden, restored.input.ocr) == (task, "review", Ocr(True, ("deu",)))
    assert (restored.site.limits, restored.site.root) == (plan.site.limits, tmp_path)
    assert settings_text(restored, MODEL) == settings_text(made, MODEL)


def test_how_a_model_writes_is_among_them_but_for_its_memory(plan: RunPlan, tmp_path: Path) -> None:
    """And for a model that embeds nothing is: its digests are what they were."""
    assert "writing" not in settings_text(plan, MODEL)
    writing = Writing(context=4096, max_tokens=300, kv="int8", cache_mib=100)
    made = replace(plan, writing=writing)
    values = json.loads(settings_text(made, MODEL))
    assert values["writing"] == {"prompts": PROMPTS, "context": 4096, "max_tokens": 300, "kv": "int8"}
    restored = restored_plan(values, plan.site, tmp_path, made.model)
    assert restored.writing == replace(writing, cache_mib=None)
    assert job_digest(restored, MODEL) == job_digest(made, MODEL) != job_digest(plan, MODEL)


def test_weights_as_they_are_in_the_file_are_other_settings(plan: RunPlan, tmp_path: Path) -> None:
    made = replace(plan, model=replace(plan.model, widen=True))
    assert job_digest(made, MODEL) != job_digest(plan, MODEL)
    assert "precision" not in settings_text(plan, MODEL)
    values = json.loads(settings_text(made, MODEL))
    assert values["precision"] == "file"
    assert restored_plan(values, plan.site, tmp_path, plan.model).model.widen
    assert not restored_plan(json.loads(settings_text(plan, MODEL)), plan.site, tmp_path, made.model).model.widen


def test_long_settings_have_several_records_that_an_entry_can_hold(plan: RunPlan, tiny_model: Path) -> None:
    labels = (Label("a", "\0" * 12_000), Label("b", '"\\' * 10_000), Label("c", "\U0001f600" * 10_000))
    made = make_plan(plan.site, tiny_model, task=ClassifySettings(labels))
    run(made, observer=Witness())
    records = entries(made, "settings")
    assert len(records) > 10
    assert [entry["piece"] for entry in records] == list(range(len(records)))
    kept = KeptSettings()
    for record in records * 2:
        kept.take(SettingsPiece.from_json(record))
    assert kept.get(str(records[0]["job_digest"])) is not None


def test_settings_that_are_not_those_of_the_digest_are_none(plan: RunPlan) -> None:
    (record,) = settings_records(plan, MODEL)
    kept, digest = KeptSettings(), record.job_digest
    assert kept.get(digest) is None
    kept.take(replace(record, text=record.text.replace("lease", "lemon")))
    assert kept.get(digest) is None
    newer = record.text.replace('"digest":2', '"digest":3')
    other = hashlib.sha256(newer.encode()).hexdigest()
    kept.take(replace(record, text=newer, job_digest=other))
    assert kept.get(other) is None
