"""The commands that look: results, status, model, audit; and how a command finds its workspace."""

import hashlib
import json
import os
from email.message import EmailMessage
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engine.gguf import GgmlType
from jobs.cli.printing import Table, print_table
from jobs.cli.results import answer_of
from jobs.config.load import load_site
from jobs.stop import service_lock
from jobs.visible import CONTROLS
from pipeline.document import Row
from tests.decoders import write_decoder
from tests.jobs.conftest import INVOICE, LEASE, Cloister, Place, finished
from tests.models import write_bert_folder


@finished
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
    assert "empty: the file has 0 bytes" in told.out
    assert told.out.endswith("empty: Check whether the right file was sent.\n")
    assert "lease.txt" not in cloister("results", "sort", "--failed").out
    assert len(cloister("results", "--limit", "1", "--json").json) == 1


def test_results_as_json_are_the_rows_of_the_table(done: Place, cloister: Cloister) -> None:
    rows = cloister("results", "sort", "--json").json
    (part,) = done.parts("sort")
    table = sorted(pq.read_table(part).to_pylist(), key=lambda row: str(row["path"]))
    for row in [*rows, *table]:
        assert row.pop("finished_at")  # a time in Parquet, a text in JSON
    assert rows == [json.loads(json.dumps(row)) | {"job": "sort"} for row in table]


def test_results_tell_notes_and_which_document_of_one_path(ready: Place, cloister: Cloister) -> None:
    digests = []
    for text in (LEASE, INVOICE):
        digests.append(hashlib.sha256(text.encode()).hexdigest()[:8])
        ready.drop("sort", "a.txt", text)
        assert cloister("run", "sort").code == 0
    mail = EmailMessage()
    mail["Subject"] = "The flat"
    mail.set_content(LEASE)
    mail.add_attachment(b"plan", maintype="application", subtype="octet-stream", filename="plan[red].bin")
    ready.drop("sort", "b.eml", mail.as_string())
    assert cloister("run", "sort").code == 0
    told = cloister("results", "sort").out
    for digest in digests:
        assert f"a.txt {digest}" in told
    assert "b.eml!/plan[red].bin " in told
    assert "note: documents inside it, each with a row of its own: 1" in told
    assert "b.eml " in told


def test_long_values_are_cut_and_scored() -> None:
    fields = [{"name": "terms", "value": "word " * 100, "score": 0.876}, {"name": "none", "value": None}]
    told = answer_of(Row({"state": "done", "fields": fields, "reason": None})).plain
    assert told.startswith("terms = word word")
    assert told.endswith("… (0.88)")
    assert len(told) < 180


def test_a_narrow_table_folds_no_name_and_a_narrower_one_is_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    head = ("job", "document", "state", "answer")
    rows = [("correspondence-triage", "folder/of/documents " * 5, "duplicate", "the same bytes as another one " * 4)]
    print_table(Table(head, rows, whole=("job", "state")))
    told = capsys.readouterr().out
    assert "correspondence-triage" in told
    assert max(map(len, told.splitlines())) <= 80
    counts = [f"column{n}" for n in range(9)]
    print_table(Table(["job", *counts], [["night", *["1,000"] * 9]], right=counts, whole=("job",)))
    assert capsys.readouterr().out.startswith("night: column0 1,000, column1 1,000")


def test_nothing_in_a_name_acts_on_the_terminal(ready: Place, cloister: Cloister) -> None:
    for name in ("[red]a[_].txt", "e\x1b[31m.txt", "r\u202etxt", "[_]\u0085.part"):
        ready.drop("sort", name, f"{LEASE} {name}")
    told = [cloister(*command).out for command in (("check", "sort"), ("status",), ("run", "sort"), ("results",))]
    assert not CONTROLS.search("".join(told))
    assert all("[_]\\x85.part" in each for each in told[:3])
    for name in ("[red]a[_].txt", "e\\x1b[31m.txt", "r\\u202etxt"):
        assert name in told[3]


def test_results_of_nothing(place: Place, cloister: Cloister) -> None:
    assert "no results yet" in cloister("results").out
    assert cloister("results", "--json").json == []
    place.job("sort")
    wrong = cloister("results", "srt")
    assert wrong.code == 2
    assert "did you mean 'sort'?" in wrong.err


def test_results_whose_parts_are_gone(done: Place, cloister: Cloister) -> None:
    for part in done.parts("sort"):
        part.unlink()
    for told in (cloister("results"), cloister("results", "sort")):
        assert told.out.startswith(
            "no results: the log has 2 rows, whose parts are no longer in outbox/. Restore it from"
        )


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
    assert plain["jobs"][0]["last_run"]["seen"] == sum(plain["jobs"][0]["last_run"]["counts"].values()) == 2
    (done.root / "jobs" / "sort.yaml").rename(done.root / "jobs" / "sort.yml")
    assert "jobs/sort.yml is no job: job files end in .yaml" in cloister("status").out
    assert "sort (its file is no longer in jobs/)" in cloister("status").out


def test_status_says_who_serves(place: Place, cloister: Cloister) -> None:
    with service_lock(place.root / "audit"):
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
    assert told.out.startswith(
        "RESULTS OR ARCHIVED DOCUMENTS DIFFER FROM THE AUDIT LOG test.example/log. The log itself"
    )
    assert "CANNOT BE TRUSTED" not in told.out
    assert f"outbox/sort/{part.name}" in told.out
    part.write_bytes(body)
    (segment,) = (done.root / "audit" / "entries").iterdir()
    number = next(n for n, line in enumerate(segment.read_bytes().splitlines()) if b"lease.txt" in line)
    segment.write_bytes(segment.read_bytes().replace(b"lease.txt", b"leash.txt", 1))
    told = cloister("audit", "verify")
    assert told.code == 4
    assert told.out.startswith("THE AUDIT LOG test.example/log CANNOT BE TRUSTED.")
    assert "DIFFER" not in told.out
    assert f"entry {number} (" in told.out
    assert cloister("audit", "verify", "--json").json["ok"] is False


@pytest.mark.parametrize("folder", ["audit", "outbox/sort"])
def test_audit_verify_names_files_whose_names_act_or_are_no_text(done: Place, cloister: Cloister, folder: str) -> None:
    for name in (b"a\x1b[2J\x1b[1A", b"b\xff", "c\u202e".encode()):
        (done.root / folder / os.fsdecode(name)).touch()
    told = cloister("audit", "verify")
    assert told.code == 4, told.err
    assert not CONTROLS.search(told.out.replace("\n", ""))
    for name in ("a\\x1b[2J\\x1b[1A", "b\\udcff", "c\\u202e"):
        assert f"    {folder}/{name}: ".replace(" audit/", " ") in told.out
    assert cloister("audit", "verify", "--json").json["ok"] is False


@pytest.mark.parametrize("damage", ["missing", "empty"])
def test_audit_verify_of_a_bad_checkpoint_does_not_send_to_itself(done: Place, cloister: Cloister, damage: str) -> None:
    checkpoint = done.root / "audit" / "checkpoint"
    checkpoint.unlink() if damage == "missing" else checkpoint.write_bytes(b"")
    told = cloister("audit", "verify")
    assert told.code == 4
    assert "checkpoint: " in told.out
    assert "restore the whole workspace from a backup (`cloister restore`), not the log alone" in told.out
    assert "cloister audit verify" not in told.out
    assert "`cloister audit verify` names" in cloister("status").err


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
    again = cloister("audit", "show", story["document"][:8], "--json").json
    assert again["entries"].pop()["type"] == "read.story"  # that it was shown is a part of it
    assert again == story
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


def test_files_that_wait_for_their_batch_are_told_with_the_reason(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "a.txt", LEASE)
    ready.drop("sort", "manifest.sha256", f"{'0' * 64}  a.txt\n{'1' * 64}  b.txt\n")
    reason = "held: manifest.sha256 names b.txt, which is missing"
    (job,) = cloister("status", "--json").json["jobs"]
    assert (job["ready"], job["settling"], job["held"]) == (0, 0, 1)
    assert job["pending_files"] == [{"path": "a.txt", "reason": reason}]
    assert f"pending  1 file: a.txt ({reason})" in cloister("status").out
    assert f"held    1 file: a.txt ({reason})" in cloister("check", "sort").out


def test_a_foreign_file_in_the_log_leaves_the_entries_whole(done: Place, cloister: Cloister) -> None:
    (done.root / "audit" / "foo").touch()
    told = cloister("audit", "verify")
    assert (told.code, told.err) == (4, "")  # recorded, for a run would append too
    assert told.out.startswith("IN THE AUDIT LOG test.example/log LIES WHAT IS NO PART OF IT. The log itself is whole")
    assert "foo: no file of this log: nobody signed it; move it out of the folder" in told.out
    assert "rows 2" in told.out
    (done.root / "audit" / "foo").unlink()
    assert cloister("audit", "verify").code == 0


def test_a_false_name_of_the_log_is_refused(done: Place, cloister: Cloister) -> None:
    site = done.root / "site.yaml"
    text = site.read_text()
    for old, new, said in (
        (
            'origin: "test.example/log"',
            "origin: other/name",
            "'origin' in log is 'other/name', but 'public_key' is one of",
        ),
        ('public_key: "', 'public_key: "garbage ', "site.yaml:5:15: 'public_key' in log: this is no public key"),
    ):
        assert old in text
        site.write_text(text.replace(old, new))
        for command in (("status",), ("run", "sort"), ("audit", "verify")):
            told = cloister(*command)
            assert (told.code, said in told.err) == (2, True), told.err


def test_a_model_in_16_bits_is_told_to_be_computed_in_8(place: Place, cloister: Cloister) -> None:
    write_decoder(place.root / "models" / "half.gguf", "llama", GgmlType.F16)
    shown = cloister("model", "inspect", "half").out
    assert "computed as integers of 8 bits, or with `model: {precision: file}` in float32" in shown
    types = cloister("model", "inspect", "half", "--json").json["types"]
    assert {each["type"]: each["computed_as"] for each in types} == {"F16": "int8", "F32": None}
