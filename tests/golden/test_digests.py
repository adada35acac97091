"""The digest of a job's settings is the key of what was done: no version may change it, or all documents come again.

golden/digests.json is of 2026-11-23: of each example job, and of jobs in which one key is another one, the digest on a
model that embeds and on one that writes.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.config.load import load_job
from jobs.config.plan import make_plan
from jobs.config.workspace import open_workspace
from pipeline.records.settings import job_digest
from pipeline.tasks import Writing
from tests.golden.workspace.job_files import JOBS, job_file
from tests.golden.workspace.said import ask

GOLDEN: dict[str, list[str]] = json.loads((Path(__file__).parent / "digests.json").read_text())
EXAMPLES = Path(__file__).parents[2] / "configs"
MODEL = "5" * 64
SITE = """\
log:
  origin: example.org/cloister
  key: keys/log.key
  public_key: example.org/cloister+49567f00+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4
limits: {document_mib: 3, parse_seconds: 7.5, parse_memory_mib: 256, text_characters: 5000, unpacked_depth: 2,
         unpacked_documents: 20, unpacked_mib: 30, unpacked_ratio: 40, isolation: best_effort}
"""
CLASSIFY = """\
job: one
input: {INPUT}
model: {name: some MODEL}
task:
  type: classify
  labels:
    - {name: lease, description: "a lease", examples: ["The tenant pays.", "Der Mieter zahlt."]}
    - {name: invoice}
REST
"""
INPUTS = {
    "hidden kept": "hidden: keep", "hidden reviewed": "hidden: review", "ocr off": 'ocr: "off"',
    "ocr languages": "ocr: {languages: [deu, eng]}",
}  # fmt: skip
MODELS = {
    "precision": "precision: file", "context": "context: 512", "kv": "kv: int8", "writes as it would": "kv: float16",
    "less memory": "cache_mib: 100",
}  # fmt: skip
NOTHING = {
    "given": "{folder: inbox/other, include: ['*.pdf'], settle_seconds: 1, afterwards: keep, duplicates: warn, "
    "priority: [a]}",
    "rest": "private: true\nretention: {rows_days: 3}\noutput: {formats: [parquet, markdown], part_documents: 7}",
}
"""Keys on which no answer hangs."""
TASKS = {
    "threshold": "type: classify\n  threshold: 0.25\n  labels: [{name: a}, {name: b}]",
    "calibrate": "type: classify\n  calibrate: true\n  labels: [{name: a}, {name: b}]",
    "max tokens": "type: classify\n  max_tokens: 99\n  labels: [{name: a}, {name: b}]",
    "fields": "type: extract\n  fields: [{name: a}, {name: b, type: iban}, {name: c, type: regex, pattern: 'x+'}]",
    "sentences": "type: summarize\n  sentences: 3",
    "words": "type: summarize\n  words: 30",
    "ask": "type: ask\n  question: Who?",
    "ask for a form": "type: ask\n  question: Who?\n  schema:\n    "
    "{type: object, properties: {b: {type: string}, a: {type: integer}}}",
    "batch": "type: batch",
    "batch by names": "type: batch\n  models: [gpt-4o, gpt-4o-mini]",
}


def classify(given: str = "{}", model: str = "", rest: str = "") -> str:
    return CLASSIFY.replace("{INPUT}", given).replace(" MODEL", f", {model}" if model else "").replace("REST", rest)


def job_files() -> dict[str, str]:
    """What is asked -> the text of its job file."""
    files = {f"example {file.stem}": file.read_text() for file in sorted(EXAMPLES.glob("*.yaml"))}
    files |= {f"golden {name}": job_file(name) for name in JOBS}
    files |= {name: classify(given=f"{{{said}}}") for name, said in INPUTS.items()}
    files |= {name: classify(model=said) for name, said in MODELS.items()}
    files |= {name: f"job: one\nmodel: {{name: some}}\ntask:\n  {said}\n" for name, said in TASKS.items()}
    return {**files, "plain": classify(), "no answer hangs on these": classify(**NOTHING)}


def digests(workspace: Path, text: str) -> list[str]:
    """The digests of the job's settings: on a model that embeds, unless the job says that it writes, and on one that
    writes."""
    name = text.partition("job: ")[2].split()[0]
    file = workspace / "jobs" / f"{name}.yaml"
    file.write_text(text)
    plan = make_plan(open_workspace(workspace), load_job(file))
    return [job_digest(plan, MODEL), job_digest(replace(plan, writing=plan.writing or Writing()), MODEL)]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    assert ask(tmp_path, "init", "ws", "--origin", "test.example/log")[0] == 0
    return tmp_path / "ws"


def test_digests_stay(workspace: Path) -> None:
    found = {name: digests(workspace, text) for name, text in job_files().items()}
    (workspace / "site.yaml").write_text(SITE)
    found["other limits"] = digests(workspace, classify())
    assert found == GOLDEN


def test_no_two_jobs_that_answer_differently_have_one_digest() -> None:
    same = {"no answer hangs on these", "writes as it would", "less memory"}
    others = [writes for name, (_, writes) in GOLDEN.items() if name not in same]
    assert len(set(others)) == len(others)
    assert {GOLDEN[name][1] for name in same} == {GOLDEN["plain"][1]}
    assert GOLDEN["no answer hangs on these"] == GOLDEN["plain"]
