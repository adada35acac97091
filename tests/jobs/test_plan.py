"""What the job file says of its input reaches the plan."""

import json
import shutil
from pathlib import Path

import pytest

import pipeline
from jobs.config.load import load_job
from jobs.config.plan import make_plan
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError
from tests.jobs.conftest import WITH_PICTURES, Place


@pytest.mark.parametrize(
    ("said", "ocr"),
    [
        ("", pipeline.plan.Ocr(enabled=True, languages=())),
        (", ocr: off", pipeline.plan.Ocr(enabled=False, languages=())),
        (", ocr: {languages: [deu, eng]}", pipeline.plan.Ocr(enabled=True, languages=("deu", "eng"))),
    ],
)
def test_ocr(place: Place, said: str, ocr: pipeline.plan.Ocr) -> None:
    assert _planned(place, said).ocr == ocr


def test_the_rules_of_the_input(place: Place) -> None:
    usual = _planned(place, "")
    assert (usual.duplicates, usual.hidden, usual.priority) == ("skip", "drop", ())
    other = _planned(place, ", duplicates: warn, hidden: review, priority: [urgent, '*/today']")
    assert (other.duplicates, other.hidden, other.priority) == ("warn", "review", ("urgent", "*/today"))


def _planned(place: Place, said: str) -> pipeline.Input:
    file = place.job("sort")
    text = WITH_PICTURES.format(name="sort", afterwards="keep")
    file.write_text(text.replace("afterwards: keep", f"afterwards: keep{said}"))
    return make_plan(open_workspace(place.root), load_job(file)).input


ASK = """\
job: sort
model: {{name: tiny, context: 4096, kv: int8}}
task:
  type: ask
  question: Who signed?
  max_tokens: 200
  schema:
    type: object
    properties:
      who: {{type: string, format: quote}}
      when: {{type: string, {rest}}}
"""


def test_a_question_keeps_the_order_of_its_schema(place: Place) -> None:
    file = place.job("sort")
    file.write_text(ASK.format(rest="format: date"))
    plan = make_plan(open_workspace(place.root), load_job(file))
    assert isinstance(plan.task, pipeline.tasks.AskSettings)
    assert list(json.loads(plan.task.schema)["properties"]) == ["who", "when"]
    assert plan.writing == pipeline.tasks.Writing(context=4096, max_tokens=200, kv="int8")


def test_a_schema_that_no_answer_can_keep_is_told_at_its_place(place: Place) -> None:
    file = place.job("sort")
    file.write_text(ASK.format(rest="minLength: many"))
    with pytest.raises(ConfigError) as error:
        make_plan(open_workspace(place.root), load_job(file))
    (problem,) = error.value.problems
    assert problem.found.startswith("schema #/properties/when: minLength: found 'many', expected")
    assert (problem.line, problem.column) == (11, 13)


def test_keys_of_models_that_write_are_not_for_others(place: Place, tiny_model: Path) -> None:
    place.root.joinpath("models").mkdir(exist_ok=True)
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    file = place.job("sort")
    text = WITH_PICTURES.format(name="sort", afterwards="keep")
    for line in ("model: {name: tiny, kv: int8}", None):
        file.write_text(text.replace("model: {name: tiny}", line) if line else ASK.format(rest="format: date"))
        plan = make_plan(open_workspace(place.root), load_job(file))
        with pytest.raises(pipeline.ModelRefusedError, match=r"for models that write text|needs one that writes text"):
            pipeline.answer.check_model(plan)


BATCH = """job: sort
model: {name: tiny}
task: {type: batch, models: [gpt-4o-mini, tiny]}
"""


def test_a_batch_job(place: Place, tiny_model: Path) -> None:
    file = place.job("sort")
    file.write_text(BATCH)
    plan = make_plan(open_workspace(place.root), load_job(file))
    assert plan.is_batch
    assert plan.task == pipeline.tasks.BatchSettings(("tiny", "gpt-4o-mini"))
    assert (plan.input.include, plan.input.duplicates) == (("*.jsonl",), "process")
    assert plan.site.limits.unpacked_documents == 50_000
    file.write_text(BATCH + 'input: {include: ["*.txt"], duplicates: process}\n')
    assert make_plan(open_workspace(place.root), load_job(file)).input.include == ("*.txt",)
    place.root.joinpath("models").mkdir(exist_ok=True)
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    with pytest.raises(pipeline.ModelRefusedError, match="the task batch needs one that writes text"):
        pipeline.answer.check_model(plan)


@pytest.mark.parametrize(
    ("line", "found", "at"),
    [
        ("input: {duplicates: skip}", "duplicates: skip with the task batch", (4, 21)),
        ("output: {formats: [parquet, markdown]}", "the format markdown with the task batch", (4, 19)),
    ],
)
def test_what_a_batch_job_cannot_say(place: Place, line: str, found: str, at: tuple[int, int]) -> None:
    file = place.job("sort")
    file.write_text(f"{BATCH}{line}\n")
    with pytest.raises(ConfigError) as error:
        load_job(file)
    (problem,) = error.value.problems
    assert (problem.found, problem.line, problem.column) == (found, *at)
