"""`cloister model admit`, `revoke` and `verify`: by the bytes of a file, whatever it is called, and in the log."""

import json
import re
import shutil
from pathlib import Path

import pytest

import engine
from pipeline.control.golden import BUILT_IN
from tests.decoders import write_decoder
from tests.jobs.conftest import INVOICE, LEASE, Cloister, Place, entries, held
from tests.models import write_bert_folder

NOTE = ("--licence", "Apache-2.0", "--origin", "made for a test")


def require(place: Place) -> None:
    """Let site.yaml demand admissions."""
    site = place.root / "site.yaml"
    site.write_text(site.read_text() + "models: {require_admission: true}\n")


@pytest.fixture
def other_model(ready: Place, tmp_path: Path) -> Path:
    """Another model of the workspace, `other`."""
    path = ready.root / "models" / "other.gguf"
    engine.import_model(write_bert_folder(tmp_path / "hf", seed=3), path, file_type="q8_0", name="other")
    return path


def test_an_admission_is_in_the_log_with_who_licence_origin_and_answers(ready: Place, cloister: Cloister) -> None:
    told = cloister("model", "admit", "tiny", *NOTE, "--by", "Ada Example")
    assert (told.code, told.err) == (0, "")
    (entry,) = entries(ready, "admission.granted")
    sha256 = cloister("model", "inspect", "tiny", "--json").json["sha256"]
    said = {name: entry[name] for name in ("file", "sha256", "by", "licence", "origin", "numerics", "run")}
    assert said == {
        "file": "tiny.gguf", "sha256": sha256, "by": "Ada Example", "licence": "Apache-2.0",
        "origin": "made for a test", "numerics": engine.NUMERICS, "run": "",
    }  # fmt: skip
    for words in (
        f"by entry {entry['n']}",
        sha256,
        "Ada Example",
        f"to {len(BUILT_IN)} texts",
        entry["answers_sha256"],
    ):
        assert words in told.out
    kept = ready.root / "models" / "golden" / f"{entry['golden_sha256']}.json"
    assert json.loads(kept.read_text()) == list(BUILT_IN)
    again = cloister("model", "admit", "tiny", *NOTE, "--json").json
    assert again["answers_sha256"] == entry["answers_sha256"], "the same answers on the same bytes"
    assert again["by"] == entry["user"], "who gives the command, where nobody is named"
    assert cloister("audit", "verify").code == 0


def test_a_licence_or_origin_that_nobody_states_is_asked_for(ready: Place, cloister: Cloister) -> None:
    refused = cloister("model", "admit", "tiny", "--origin", "here")
    assert (refused.code, "--licence: the file does not state its licence" in refused.err) == (2, True)
    refused = cloister("model", "admit", "tiny", "--licence", "MIT")
    assert (refused.code, "cloister model admit tiny --origin TEXT" in refused.err) == (2, True)
    assert cloister("model", "admit", "tiny", *NOTE, "--by", " ").code == 2
    long = cloister("model", "admit", "tiny", "--origin", "here", "--licence", "x" * 5000)
    assert (long.code, "--licence: has 5,000 characters" in long.err) == (2, True)
    assert entries(ready, "admission.granted") == []


def test_what_the_file_states_is_taken_and_told_where_a_person_says_otherwise(ready: Place, cloister: Cloister) -> None:
    said = {"general.license": "cc-by-4.0", "general.source.url": "https://models.example/tiny"}
    metadata = {"llama.context_length": 4096, "llama.rope.freq_base": 1e6, **said}
    write_decoder(ready.root / "models" / "stating.gguf", "llama", metadata=metadata)
    plain = cloister("model", "admit", "stating", "--json").json
    assert (plain["licence"], plain["origin"]) == ("cc-by-4.0", "https://models.example/tiny")
    told = cloister("model", "admit", "stating", "--licence", "MIT", "--json").json
    assert told["licence"] == "MIT (its file states: cc-by-4.0)"


def test_golden_texts_of_a_file_are_asked_and_what_is_wrong_with_it_is_named(
    ready: Place, cloister: Cloister, tmp_path: Path
) -> None:
    golden = tmp_path / "golden.txt"
    golden.write_text("The tenant pays.\n\n  The landlord  \n")
    admitted = cloister("model", "admit", "tiny", *NOTE, "--golden", golden, "--json").json
    assert admitted["texts"] == 2
    table = tmp_path / "golden.csv"
    table.write_text("text,label\nThe tenant pays.,x\nThe landlord,y\n")
    same = cloister("model", "admit", "tiny", *NOTE, "--golden", table, "--json").json
    assert same["answers_sha256"] == admitted["answers_sha256"]
    golden.write_bytes(b"fine\nM\xfcller\n")
    refused = cloister("model", "admit", "tiny", *NOTE, "--golden", golden)
    assert (refused.code, "golden.txt:2: the byte 0xfc, which is no UTF-8" in refused.err) == (2, True)
    golden.write_text("\n \n")
    assert "no text" in cloister("model", "admit", "tiny", *NOTE, "--golden", golden).err
    golden.write_text("the " * 500)
    refused = cloister("model", "admit", "tiny", *NOTE, "--golden", golden)
    assert (refused.code, "cannot be asked" in refused.err) == (3, True)


def test_a_file_that_is_no_model_is_not_admitted(ready: Place, cloister: Cloister) -> None:
    models = ready.root / "models"
    (models / "bad.gguf").write_bytes((models / "tiny.gguf").read_bytes()[:-7])
    assert cloister("model", "admit", "bad", *NOTE).code == 3
    near = cloister("model", "admit", "tinny", *NOTE)
    assert (near.code, "did you mean 'tiny'?" in near.err) == (3, True)
    assert cloister("model", "admit", "../models/tiny", *NOTE).code == 3
    assert entries(ready, "admission.granted") == []


def test_jobs_run_with_what_is_admitted_only(ready: Place, cloister: Cloister) -> None:
    require(ready)
    ready.drop("sort", "lease.txt", LEASE)
    for command in ("check", "run"):
        refused = cloister(command, "sort")
        assert (refused.code, "is not admitted, and site.yaml says" in refused.out + refused.err) == (3, True)
        assert "`cloister model admit tiny.gguf` admits it" in refused.out + refused.err
    (entry,) = entries(ready, "run.refused")
    assert "is not admitted" in entry["reason"]
    assert (ready.root / "inbox" / "sort" / "lease.txt").exists()
    assert cloister("model", "admit", "tiny", *NOTE, "--by", "Ada").code == 0
    checked = cloister("check", "sort")
    assert (checked.code, "admitted by Ada, " in checked.out) == (0, True)
    assert cloister("run", "sort").code == 0


def test_what_is_revoked_runs_no_more_under_any_name(ready: Place, cloister: Cloister) -> None:
    models = ready.root / "models"
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    assert cloister("model", "revoke", "tiny", "--reason", "  ").code == 2
    revoked = cloister("model", "revoke", "tiny", "--reason", "it was poisoned", "--by", "Ada")
    assert revoked.code == 0
    shutil.copy(models / "tiny.gguf", models / "innocent.gguf")
    job = ready.root / "jobs" / "sort.yaml"
    job.write_text(job.read_text().replace("name: tiny", "name: innocent"))
    ready.drop("sort", "invoice.txt", INVOICE)
    for command in ("check", "run"):
        told = cloister(command, "sort")
        assert told.code == 3
        words = (told.out + told.err).replace("\n", " ")
        assert re.search(r"models/innocent.gguf \(sha256 \w{64}\) was revoked, as tiny.gguf, by Ada on 20\d\d-", words)
        assert "it was poisoned; let the job name another one (`cloister model rollback JOB`" in words
    assert "was revoked, as tiny.gguf, by Ada" in cloister("status").out
    assert (ready.root / "inbox" / "sort" / "invoice.txt").exists()
    recalled = cloister("audit", "recall", "--model", entries(ready, "document")[0]["model_sha256"][:8])
    assert "revoked by Ada" in recalled.out
    assert cloister("audit", "recall", "--model", "tiny").out == recalled.out
    assert "did you mean 'tiny'?" in cloister("audit", "recall", "--model", "tinny").err
    assert cloister("audit", "replay", "--sample", "100%").code == 0, "what it made can still be proved"


def test_another_model_is_not_touched_by_a_revocation(ready: Place, cloister: Cloister, other_model: Path) -> None:
    assert cloister("model", "revoke", "tiny", "--reason", "old").code == 0
    shutil.copy(other_model, ready.root / "models" / "tiny.gguf")  # the name is none of its business
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0


def test_a_revoked_file_is_admitted_only_with_again(ready: Place, cloister: Cloister) -> None:
    assert cloister("model", "admit", "tiny", *NOTE).code == 0
    assert cloister("model", "revoke", "tiny", "--reason", "a doubt").code == 0
    refused = cloister("model", "admit", "tiny", *NOTE)
    assert (refused.code, "a doubt" in refused.err, "--again" in refused.err) == (3, True, True)
    assert cloister("run", "sort").code == 3
    assert cloister("model", "admit", "tiny", *NOTE, "--again").code == 0
    assert cloister("run", "sort").code == 0


def test_a_head_of_the_package_is_admitted_listed_and_revoked_by_its_name(
    ready: Place, cloister: Cloister, real_model: Path
) -> None:
    assert [one["name"] for one in cloister("model", "list", "--json").json] == ["tiny"], "its model is not here"
    shutil.copy(real_model, ready.root / "models" / "all-minilm-l6-v2-q8_0.gguf")
    assert cloister("model", "admit", "contracts", "--by", "Ada").code == 0
    (listed,) = (one for one in cloister("model", "list", "--json").json if one.get("packaged"))
    assert listed["use"] == "extract, as model.head on all-minilm-l6-v2-q8_0"
    assert (listed["file"], listed["admission"]["state"]) == ("contracts.head", "admitted")
    assert cloister("model", "verify", "contracts").code == 0
    told = cloister("model", "revoke", "contracts", "--reason", "a doubt", "--json").json
    assert (told["file"], told["sha256"]) == ("contracts.head", listed["sha256"])


def test_a_file_that_is_gone_is_revoked_by_its_sha256(ready: Place, cloister: Cloister, tiny_model: Path) -> None:
    sha256 = cloister("model", "inspect", "tiny", "--json").json["sha256"]
    (ready.root / "models" / "tiny.gguf").unlink()
    assert cloister("model", "revoke", "tiny", "--reason", "x").code == 3
    told = cloister("model", "revoke", sha256, "--reason", "withdrawn by its makers", "--json").json
    assert (told["sha256"], told["file"]) == (sha256, "")
    shutil.copy(tiny_model, ready.root / "models" / "tiny.gguf")
    refused = cloister("run", "sort")
    assert (refused.code, "withdrawn by its makers" in refused.err) == (3, True)


def test_decisions_wait_for_the_log_and_are_never_handed_over(ready: Place, cloister: Cloister) -> None:
    with held(ready):
        for command in (["admit", "tiny", *NOTE], ["revoke", "tiny", "--reason", "x"]):
            assert cloister("model", *command, "--wait", "0.2").code == 5
    handover = ready.root / "state" / "handover"
    assert not handover.exists() or list(handover.iterdir()) == []
    forged = {"type": "admission.revoked", "run": "", "file": "tiny.gguf", "sha256": "0" * 64, "by": "x", "reason": "y"}
    name = "ab" * 16
    about = {"id": name, "size": 0, "time": "2026-11-24T00:00:00.000000Z", "boot": "b", "uptime_us": 1, "host": "h"}
    handover.mkdir(exist_ok=True)
    body = json.dumps({**about, "record": forged}, sort_keys=True, separators=(",", ":"))
    (handover / f"{name}.json").write_text(body)
    assert cloister("run", "sort").code == 0
    assert entries(ready, "admission.revoked") == []
    (refused,) = entries(ready, "handover.refused")
    assert "proves something, and is never handed over" in refused["reason"]


def test_verify_repeats_bytes_and_answers(ready: Place, cloister: Cloister, other_model: Path) -> None:
    models = ready.root / "models"
    assert "nothing is admitted" in cloister("model", "verify").out
    never = cloister("model", "verify", "tiny")
    assert (never.code, "is not admitted" in never.err) == (3, True)
    assert cloister("model", "admit", "tiny", *NOTE).code == 0
    done = cloister("model", "verify", "--json")
    assert (done.code, [(each["bytes"], each["answers"]) for each in done.json["files"]]) == (0, [("same", "same")])
    (models / "tiny.gguf").rename(models / "renamed.gguf")
    (moved,) = cloister("model", "verify", "--json").json["files"]
    assert (moved["bytes"], moved["answers"], moved["told"]) == ("same", "same", "it is models/renamed.gguf now")
    (models / "renamed.gguf").unlink()
    (gone,) = cloister("model", "verify", "--json").json["files"]
    assert gone["bytes"] == "gone"
    shutil.copy(other_model, models / "tiny.gguf")
    for command in (["verify"], ["verify", "tiny"]):
        told = cloister("model", *command, "--json")
        assert (told.code, told.json["files"][0]["bytes"]) == (3, "other")
    found = [(entry["file"], entry["bytes"], entry["answers"]) for entry in entries(ready, "admission.verified")]
    assert found[0] == ("tiny.gguf", "same", "same")
    assert found[-1] == ("tiny.gguf", "other", "none")


def test_verify_says_where_answers_are_others_or_cannot_be_compared(
    ready: Place, cloister: Cloister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden = tmp_path / "golden.txt"
    golden.write_text("The tenant pays.\n")
    assert cloister("model", "admit", "tiny", *NOTE, "--golden", golden).code == 0
    with monkeypatch.context() as patch:
        embed = engine.Model.embed
        patch.setattr(engine.Model, "embed", lambda self, texts: -embed(self, texts))
        told = cloister("model", "verify")
        assert (told.code, "different" in told.out) == (3, True)
    with monkeypatch.context() as patch:
        patch.setattr(engine, "NUMERICS", "another-arithmetic")
        told = cloister("model", "verify")
        assert (told.code, "incomparable" in told.out) == (1, True)
    (kept,) = (ready.root / "models" / "golden").iterdir()
    kept.write_text('["The tenant pays!"]')
    told = cloister("model", "verify")
    assert (told.code, "are gone or changed" in told.out.replace("\n", " ")) == (1, True)


def test_a_model_that_writes_is_asked_too(ready: Place, cloister: Cloister, tiny_decoder: Path) -> None:
    shutil.copy(tiny_decoder, ready.root / "models" / "writer.gguf")
    first = cloister("model", "admit", "writer", *NOTE, "--json").json
    assert first["texts"] == len(BUILT_IN)
    assert cloister("model", "verify", "writer").code == 0


def test_the_list_has_what_was_decided_and_who_uses_it(ready: Place, cloister: Cloister, other_model: Path) -> None:
    assert cloister("model", "admit", "tiny", *NOTE, "--by", "Ada").code == 0
    assert cloister("model", "revoke", "other", "--reason", "a doubt", "--by", "Bob").code == 0
    listed = {each["name"]: each for each in cloister("model", "list", "--json").json}
    assert (listed["tiny"]["admission"]["state"], listed["tiny"]["jobs"]) == ("admitted", ["sort"])
    assert (listed["other"]["admission"]["state"], listed["other"]["jobs"]) == ("revoked", [])
    assert listed["other"]["admission"]["reason"] == "a doubt"
    told = cloister("model", "list").out
    assert "admitted by Ada" in told
    assert "revoked by Bob" in told
