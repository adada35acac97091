"""What a user meets first: mistyped names, jobs of which one is wrong, models that lie elsewhere, an editor."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import configs
from engine.gguf import GgmlType
from jobs.config.job import job_config
from tests.decoders import write_decoder
from tests.jobs.conftest import LEASE, Cloister, Place


@pytest.fixture
def decoder(tmp_path: Path) -> Path:
    return write_decoder(tmp_path / "Some-Writer.gguf", "llama", GgmlType.Q8_0)


def test_one_wrong_job_does_not_keep_the_others_from_running(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    (ready.root / "jobs" / "wrong.yaml").write_text("job: wrong\nmodel: {name: tiny}\ntask: {type: classfy}\n")
    told = cloister("run", "wrong", "sort", "--json")
    assert told.code == 2
    assert [run["job"] for run in told.json["runs"]] == ["sort"]
    (error,) = told.json["errors"]
    assert "classfy" in error["message"]
    assert "did you mean 'classify'" in told.err
    assert cloister("run", "wrong").code == 2


def test_the_inbox_of_a_job_is_made(ready: Place, cloister: Cloister, tmp_path: Path) -> None:
    (ready.root / "inbox" / "sort").rmdir()
    assert cloister("check", "sort").code == 0
    assert (ready.root / "inbox" / "sort").is_dir()
    text = (ready.root / "jobs" / "sort.yaml").read_text().replace("job: sort", "job: far")
    far = re.sub(r"input:.*", f"input: {{folder: {tmp_path}/elsewhere}}", text)
    assert "elsewhere" in far
    (ready.root / "jobs" / "far.yaml").write_text(far)
    told = cloister("check", "far")
    assert told.code == 2
    assert "mounted" in told.out
    assert not (tmp_path / "elsewhere").exists()


def test_check_without_names_checks_all_jobs(ready: Place, cloister: Cloister, tmp_path: Path) -> None:
    (ready.root / "jobs" / "wrong.yaml").write_text("job: wrong\n")
    told = cloister("check", "--json")
    assert told.code == 2
    assert [each["code"] for each in told.json["jobs"]] == [0, 2]
    for path in (ready.root / "jobs").glob("*.yaml"):
        path.unlink()
    told = cloister("check")
    assert told.code == 2
    assert "copy an example" in told.err


def test_a_model_of_nearly_that_name(ready: Place, cloister: Cloister) -> None:
    path = ready.root / "jobs" / "sort.yaml"
    path.write_text(path.read_text().replace("name: tiny", "name: tinny"))
    assert "did you mean 'tiny'?" in cloister("check", "sort").out
    told = cloister("model", "inspect", "tinny")
    assert told.code == 3
    assert "did you mean 'tiny'?" in told.err
    assert "`cloister model list` shows models" in cloister("model", "inspect", "quite-another").err


def test_a_gguf_file_is_brought_in(place: Place, cloister: Cloister, decoder: Path) -> None:
    told = cloister("model", "import", decoder, "--json")
    assert told.code == 0
    copy = place.root / "models" / "some-writer.gguf"
    assert told.json["path"] == str(copy)
    assert copy.read_bytes() == decoder.read_bytes()
    assert cloister("model", "import", decoder).code == 0  # the same file again
    other = write_decoder(decoder.parent / "other.gguf", "llama", GgmlType.Q4_0)
    refused = cloister("model", "import", other, "--name", "some-writer")
    assert refused.code == 2
    assert "--force replaces it" in refused.err
    assert cloister("model", "import", other, "--name", "some-writer", "--force").code == 0
    assert copy.read_bytes() == other.read_bytes()
    assert "cloister model quantize" in cloister("model", "import", decoder, "--type", "f16").err
    (bad := decoder.parent / "bad.gguf").write_bytes(b"GGUF")
    assert cloister("model", "import", bad).code == 3
    kept = f"some-writer.{hashlib.sha256(decoder.read_bytes()).hexdigest()[:12]}.gguf"
    assert sorted(path.name for path in (place.root / "models").iterdir()) == [kept, "some-writer.gguf"]
    assert (place.root / "models" / kept).read_bytes() == decoder.read_bytes()


def test_the_list_says_which_models_jobs_can_use(ready: Place, cloister: Cloister, decoder: Path) -> None:
    models = ready.root / "models"
    (models / "my model.gguf").write_bytes(decoder.read_bytes())
    (models / "writer.gguf").write_bytes(decoder.read_bytes())
    (models / "bad.gguf").write_bytes(b"GGUF")
    uses = {model["name"]: model["use"] for model in cloister("model", "list", "--json").json}
    assert uses["tiny"] == "classify, extract, summarize"
    assert uses["writer"] == "every task"
    assert uses["my model"].startswith("none: a job cannot name it; rename the file")
    assert uses["bad"].startswith("none: ")
    assert "every task" in cloister("model", "list").out


def test_a_type_that_is_none_is_told_in_our_words(place: Place, cloister: Cloister) -> None:
    told = cloister("model", "quantize", "x", "--type", "q9", "--name", "z", "--json")
    assert told.code == 2
    assert "Value error" not in told.err + told.out
    assert "'q9' is not one of" in told.json["error"]["message"]


def test_init_brings_what_an_editor_needs(cloister: Cloister, tmp_path: Path) -> None:
    root = tmp_path / "ws"
    assert cloister("init", root, "--example", "contract-questions").code == 0
    schema = (root / "jobs" / "job.schema.json").read_bytes()
    assert schema == (Path(next(iter(configs.__path__))) / "job.schema.json").read_bytes()
    first = (root / "jobs" / "contract-questions.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=job.schema.json"
    (root / "jobs" / "job.schema.json").write_text("{}")
    assert cloister("init", root).code == 0
    assert (root / "jobs" / "job.schema.json").read_bytes() == schema
    assert cloister("status", "--json", "--workspace", root).json["other_files"] == []


def test_an_editor_tells_what_is_wrong_with_the_task_that_was_chosen() -> None:
    """By conditions on `type`: of a value that fits none of several schemas an editor can only tell that."""
    task = job_config().model_json_schema()["properties"]["task"]
    assert not {"oneOf", "anyOf", "discriminator"} & task.keys()
    chosen = {each["if"]["properties"]["type"]["const"]: each["then"]["$ref"] for each in task["allOf"]}
    assert list(chosen) == task["properties"]["type"]["enum"]
    assert chosen["extract"] == "#/$defs/ExtractConfig"
    jsonschema = pytest.importorskip("jsonschema")
    checker = jsonschema.Draft202012Validator(job_config().model_json_schema())
    job = {"job": "a", "model": {"name": "m"}, "task": {"type": "summarize", "sentence": 3}}
    assert [error.message for error in checker.iter_errors(job)] == [
        "Additional properties are not allowed ('sentence' was unexpected)"
    ]
    job = {"job": "a", "model": "m", "task": {"type": "classify", "labels": ["a", {"name": "b", "descripton": "x"}]}}
    assert [error.message for error in checker.iter_errors(job)] == [
        "Additional properties are not allowed ('descripton' was unexpected)"
    ]
    assert [error.validator for error in checker.iter_errors({**job, "model": "../m"})][:1] == ["pattern"]


def test_shells_complete_commands_and_jobs(ready: Place) -> None:
    def complete(words: str) -> list[str]:
        environment = os.environ | {
            "_CLOISTER_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1),
            "CLOISTER_WORKSPACE": str(ready.root),
        }  # fmt: skip
        program = "import sys; sys.argv = ['cloister']; from jobs.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-P", "-c", program], env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout.split()

    assert {"check", "run", "results"} <= set(complete("cloister "))
    assert complete("cloister run so") == ["sort"]
    assert json.dumps(complete("cloister run zz")) == "[]"
