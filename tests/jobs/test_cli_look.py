"""The commands that look: results, status, model, audit; and how a command finds its workspace."""

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from jobs.load import load_site
from jobs.lock import service_lock
from tests.jobs.conftest import INVOICE, LEASE, Cloister, Place
from tests.models import write_bert_folder


@pytest.fixture
def done(ready: Place, cloister: Cloister) -> Place:
    """A workspace after a run: one document done, one failed."""
    ready.drop("sort", "lease.txt", LEASE)
    ready.drop("sort", "empty.txt", "")
    assert cloister("run", "sort").code == 1
    return ready


def test_results(done: Place, cloister: Cloister) -> None:
    told = cloister("results")
    assert told.code == 0
    assert "lease.txt" in told.out
    assert "empty: " in told.out
    assert "lease.txt" not in cloister("results", "sort", "--failed").out
    assert len(cloister("results", "--limit", "1", "--json").json) == 1


def test_results_as_json_are_the_rows_of_the_table(done: Place, cloister: Cloister) -> None:
    rows = cloister("results", "sort", "--json").json
    (part,) = done.parts("sort")
    table = sorted(pq.read_table(part).to_pylist(), key=lambda row: str(row["path"]))
    assert rows == [json.loads(json.dumps(row)) | {"job": "sort"} for row in table]


def test_results_of_nothing(place: Place, cloister: Cloister) -> None:
    assert "no results yet" in cloister("results").out
    assert cloister("results", "--json").json == []
    place.job("sort")
    wrong = cloister("results", "srt")
    assert wrong.code == 2
    assert "did you mean 'sort'?" in wrong.err


def test_status(done: Place, cloister: Cloister) -> None:
    done.drop("sort", "new.txt", INVOICE)
    done.job("wrong", "job: wrong\n")
    told = cloister("status")
    assert told.code == 0
    for words in (
        "1 file in inbox/sort",
        "last     finished 20",
        "totals   1 done, 1 failed",
        "serve      does not run",
    ):
        assert words in told.out
    assert "is not run, because of\n    jobs/wrong.yaml:1:1: no key 'model'" in told.out
    plain = cloister("status", "--json").json
    assert (plain["run"], plain["serve"]) == (None, None)
    assert plain["jobs"][0]["last_run"]["counts"]["failed"] == 1
    (done.root / "jobs" / "sort.yaml").rename(done.root / "jobs" / "sort.yml")
    assert "jobs/sort.yml is no job: job files end in .yaml" in cloister("status").out
    assert "sort (its file is no longer in jobs/)" in cloister("status").out


def test_status_says_who_serves(place: Place, cloister: Cloister) -> None:
    with service_lock(place.root / "state"):
        assert cloister("status", "--json").json["serve"] == os.getpid()
        busy = cloister("serve")
    assert busy.code == 5
    assert "another cloister serve" in busy.err


def test_audit_verify(done: Place, cloister: Cloister) -> None:
    told = cloister("audit", "verify")
    assert told.code == 0
    assert "is whole" in told.out
    plain = cloister("audit", "verify", "--json").json
    assert plain["ok"] is True
    assert plain["checked"]["rows"] == 2


def test_audit_verify_with_a_key_kept_elsewhere(done: Place, cloister: Cloister, tmp_path: Path) -> None:
    key = load_site(done.root / "site.yaml").log.public_key
    file = tmp_path / "key.txt"
    file.write_text(key + "\n")
    assert cloister("audit", "verify", "--key", key).code == 0
    assert cloister("audit", "verify", "--key", file).code == 0
    assert cloister("audit", "verify", "--key", "nonsense").code == 2
    assert cloister("init", tmp_path / "other", "--origin", "test.example/log").code == 0
    other = load_site(tmp_path / "other" / "site.yaml").log.public_key
    assert cloister("audit", "verify", "--key", other).code == 4


def test_audit_verify_names_what_was_altered(done: Place, cloister: Cloister) -> None:
    (part,) = done.parts("sort")
    body = part.read_bytes()
    part.write_bytes(body[:-9] + bytes([body[-9] ^ 1]) + body[-8:])
    told = cloister("audit", "verify")
    assert told.code == 4
    assert f"outbox/sort/{part.name}" in told.out
    part.write_bytes(body)
    (segment,) = (done.root / "audit" / "entries").iterdir()
    segment.write_bytes(segment.read_bytes().replace(b"lease.txt", b"leash.txt", 1))
    told = cloister("audit", "verify")
    assert told.code == 4
    assert "CANNOT BE TRUSTED" in told.out
    assert "entry 2 (" in told.out
    assert cloister("audit", "verify", "--json").json["ok"] is False


def test_audit_show(done: Place, cloister: Cloister) -> None:
    told = cloister("audit", "show", "lease.txt")
    assert told.code == 0
    for words in (
        "job       sort, run",
        "state     done",
        "model     tiny, sha256",
        "row       1 (counted from 0) of outbox/sort/part-",
    ):
        assert words in told.out
    story = cloister("audit", "show", "lease.txt", "--json").json
    assert cloister("audit", "show", story["document"][:8], "--json").json == story
    unknown = cloister("audit", "show", "nothing.txt")
    assert unknown.code == 2
    assert "the log knows no document 'nothing.txt'" in unknown.err


def test_models(place: Place, cloister: Cloister, tmp_path: Path) -> None:
    assert "no model" in cloister("model", "list").out
    folder = write_bert_folder(tmp_path / "hf")
    made = cloister("model", "import", folder, "--type", "f16", "--name", "small")
    assert made.code == 0
    again = cloister("model", "import", folder, "--type", "f16", "--name", "small", "--json").json
    assert again["sha256"] in made.out
    (model,) = cloister("model", "list", "--json").json
    assert (model["name"], model["sha256"]) == ("small", again["sha256"])
    assert "small" in cloister("model", "list").out
    assert "architecture  bert" in cloister("model", "inspect", "small").out
    assert cloister("model", "inspect", "models/small.gguf", "--json").json["sha256"] == again["sha256"]
    assert cloister("model", "import", folder, "--name", "../x").code == 2
    assert cloister("model", "inspect", "none").code == 3
    (place.root / "models" / "bad.gguf").write_bytes(b"GGUF")
    assert cloister("model", "list").code == 0


def test_the_workspace_of_a_command(
    place: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(place.root / "inbox")
    assert cloister("results").code == 0  # upward
    monkeypatch.chdir(tmp_path)
    lost = cloister("results", "--json")
    assert (lost.code, lost.json["exit_code"]) == (2, 2)
    assert "cloister init" in lost.err
    assert cloister("results", "--workspace", place.root).code == 0
    monkeypatch.setenv("CLOISTER_WORKSPACE", str(place.root))
    assert cloister("results").code == 0
    wrong = cloister("results", "--workspace", tmp_path)
    assert wrong.code == 2  # the option wins
    assert "(--workspace)" in wrong.err
