"""A task that this program does not have, in a file of its own and registered by one line, goes through all of it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pipeline
from jobs.config.job import job_config
from tests.jobs.conftest import Cloister, Place, entries
from tests.jobs.counting import CountSettings

README = Path(pipeline.__file__).parent / "tasks" / "README.md"
LETTER = (
    "The flat is let to the tenant from the first of May. It has two rooms and a kitchen.\n\n"
    "Der Mieter zahlt die Miete bis zum dritten Tag des Monats. Die Wohnung ist in einem guten Zustand.\n"
)
COUNT = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model: {{name: tiny}}
task:
  type: count
  least: 3
output: {{formats: [parquet, markdown]}}
"""


@pytest.fixture
def counted(place: Place, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A workspace with a job of the task `count`."""
    monkeypatch.setitem(pipeline.TASKS, "count", CountSettings)  # type: ignore[arg-type]
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    place.job("count", COUNT)
    place.drop("count", "letter.txt", LETTER)
    return place


def test_it_goes_through_all_commands(counted: Place, cloister: Cloister) -> None:
    checked = cloister("check", "count")
    assert (checked.code, "count words in every language" in checked.out) == (0, True)
    assert cloister("run", "count").code == 0
    (row,) = cloister("results", "count", "--json").json
    assert (row["task"], row["state"]) == ("count", "done")
    assert row["languages"] == [{"language": "de", "words": 11}, {"language": "en", "words": 12}]
    assert [passage["text"].split()[0] for passage in row["evidence"]] == ["Der", "The"]
    assert "languages = [{'language': 'de'" in cloister("results", "count").out
    (page,) = (counted.root / "outbox" / "count" / "_markdown").rglob("*.md")
    assert "languages = \\[\\{'language': 'de', 'words': 11\\}" in page.read_text()
    assert cloister("audit", "verify").code == 0
    replayed = cloister("audit", "replay", "letter.txt")
    assert (replayed.code, "1 identical" in replayed.out) == (0, True)


def test_its_settings_are_in_the_log_and_decide_what_is_known(counted: Place, cloister: Cloister) -> None:
    assert cloister("run", "count").code == 0
    (kept,) = entries(counted, "settings")
    assert json.loads(kept["text"])["task"] == {"type": "count", "languages": [], "least": 3}
    counted.job("count", COUNT.replace("  least", "  languages: [de]\n  least"))
    counted.drop("count", "letter.txt", LETTER)
    assert cloister("run", "count").code == 0
    parts = (pq.read_table(part).to_pylist()[0] for part in counted.parts("count"))
    rows = sorted(parts, key=lambda row: row["audit_index"])
    assert [[one["language"] for one in row["languages"]] for row in rows] == [["de", "en"], ["de"]]
    assert len({row["job_digest"] for row in rows}) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("languages: [de, german]", ":6:19: the language 'german'"),
        ("least: 0", ":6:10: 'least' in task is the number 0"),
        ("lest: 3", "unknown key 'lest' in task"),
    ],
)
def test_mistakes_are_told_at_their_place(counted: Place, cloister: Cloister, line: str, message: str) -> None:
    text = (
        COUNT.replace("least: 3", line) if "languages" not in line else COUNT.replace("  least", f"  {line}\n  least")
    )
    counted.job("count", text)
    told = cloister("check", "count")
    assert told.code == 2
    assert message in told.out + told.err


def test_a_model_of_the_other_kind_is_refused(counted: Place, tiny_decoder: Path, cloister: Cloister) -> None:
    shutil.copy(tiny_decoder, counted.root / "models" / "tiny.gguf")
    told = cloister("check", "count")
    assert told.code == 3
    assert "the task count needs one that gives embeddings" in told.out + told.err


def test_the_schema_has_it_while_it_is_registered(counted: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = job_config().model_json_schema()
    assert schema["properties"]["task"]["properties"]["type"]["enum"][-1] == "count"
    assert schema["$defs"]["CountConfig"]["properties"]["least"] == {
        "default": 1, "description": "a language with fewer words is left out",
        "maximum": 1000, "minimum": 1, "title": "Least", "type": "integer",
    }  # fmt: skip
    monkeypatch.undo()
    assert "CountConfig" not in job_config().model_json_schema()["$defs"]


def test_rows_of_other_tasks_are_what_they_were(
    ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table with a further column is the same table: rows from before are verified and made again."""
    ready.drop("sort", "letter.txt", LETTER)
    assert cloister("run", "sort").code == 0
    monkeypatch.setitem(pipeline.TASKS, "count", CountSettings)  # type: ignore[arg-type]
    assert cloister("audit", "verify").code == 0
    assert "1 identical" in cloister("audit", "replay", "letter.txt").out
    ready.drop("sort", "letter.txt", LETTER)
    assert cloister("run", "sort").code == 0
    assert [row["state"] for row in cloister("results", "sort", "--json").json] == ["done", "duplicate"]
    assert cloister("audit", "verify").code == 0


def test_it_can_be_registered_where_the_readme_says(tmp_path: Path) -> None:
    """The file and the two lines, in a copy of the package: no circle of imports."""
    shutil.copytree(README.parents[1], tmp_path / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    family = tmp_path / "pipeline" / "tasks"
    shutil.copy(Path(__file__).parent / "counting.py", family / "count.py")
    text, after, before = (family / "__init__.py").read_text(), "from pipeline.tasks.extract import", '    "classify":'
    for line, place in (
        ("from pipeline.tasks.count import CountSettings\n", after),
        ('    "count": CountSettings,\n', before),
    ):
        assert text.count(place) == 1
        text = text.replace(place, line + place)
    (family / "__init__.py").write_text(text)
    command = [sys.executable, "-P", "-c", "import pipeline; print(pipeline.__file__, *pipeline.TASKS)"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    assert told[:2] == [str(tmp_path / "pipeline" / "__init__.py"), "count"]


def test_the_readme_has_this_very_task() -> None:
    text = (Path(__file__).parent / "counting.py").read_text()
    assert f"```python\n{text}```" in README.read_text()
