"""A private job's log says no name, no digest of a document; who has private/ reads everything as ever."""

import json
import shutil
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from audit import standalone
from pipeline import Failure, RunPlan
from pipeline.records.entries import read_entries
from pipeline.records.private import AsItIs, hide
from pipeline.records.types import KINDS, members_of
from tests.pipeline.conftest import Witness, make_plan, make_site
from tests.pipeline.outbox.test_recover import fill, rows, run_and_die, tree

Drop = Callable[[str, bytes | str], Path]
LEASE = "The landlord leases the flat to the tenant."


@pytest.fixture
def plan(plan: RunPlan) -> RunPlan:
    return replace(plan, private=True)


def run(plan: RunPlan, **changes: Any) -> pipeline.RunReport:
    return pipeline.run(replace(plan, **changes), observer=Witness())


def log_bytes(plan: RunPlan) -> bytes:
    return b"".join(path.read_bytes() for path in plan.site.audit.rglob("*.jsonl"))


def openings(plan: RunPlan) -> list[Path]:
    return sorted((plan.site.root / "private").rglob("*.jsonl*"))


def of_kind(plan: RunPlan, kind: str) -> list[dict[str, Any]]:
    return [entry.said for entry in read_entries(plan.site) if entry.type == kind]


def test_the_log_has_no_name_and_no_digest(plan: RunPlan, drop: Drop) -> None:
    drop("Anna Meier.txt", LEASE)
    drop("copy of Anna Meier.txt", LEASE)
    drop("Bernd Kuhn.pdf", "%PDF-1.7\nbroken")
    drop("~$Clara Wolf.tmp", "x")
    run(plan)
    body = log_bytes(plan)
    told = list(pipeline.results(plan.site))
    assert len(told) == 3
    for name in ("Anna", "Meier", "Kuhn", "Clara"):
        assert name.encode() not in body
    for digest in {row[key] for row in told for key in ("document", "text_sha256") if row[key]}:
        assert digest.encode() not in body
    for file in openings(plan):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(file.parent.parent.stat().st_mode) == 0o700
    report = pipeline.verify(plan.site)
    assert (report.ok, report.absent, report.checked["rows"], report.checked["archived"]) == (True, (), 3, 1)


class Told(AsItIs):
    """A record of a type that has more members than today's."""

    @property
    def type(self) -> str:
        return str(self.json["type"])


def test_a_member_that_is_new_is_hidden_until_somebody_says_that_it_tells_nothing() -> None:
    said = [
        {"type": kind, "run": "r", "job": "sort", **dict.fromkeys(members_of(KINDS[kind]), 7), "new": "Anna"}
        for kind in ("document", "inputs")
    ]
    as_it_is, openings = hide([Told(each) for each in said], 3)  # type: ignore[list-item]
    hidden = [record.json for record in as_it_is]
    assert hidden[0]["new"] != hidden[1]["new"]
    assert all(audit.is_commitment(record["new"]) for record in hidden)
    assert openings[4]["new"][1] == "Anna"
    clear = {key for key, value in hidden[0].items() if not audit.is_commitment(value)}
    assert clear == {
        "type", "run", "job", "private", "state", "supersedes", "replaces", "finished_at", "part", "row", "job_digest",
        "model", "model_sha256", "tokenizer_sha256", "numerics", "engine", "software", "parse_options",
    }  # fmt: skip


def test_rows_of_a_private_job_are_computed_again(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.txt", LEASE)
    drop("broken.pdf", "%PDF-1.7\nbroken")
    plan.site.models.mkdir()
    shutil.copy(plan.model.path, plan.site.models / "tiny.gguf")
    run(plan)
    replayed = pipeline.replay(plan.site, pipeline.Choice())
    assert [row.path for row in replayed.rows] == ["Anna.txt", "broken.pdf"]
    assert replayed.counts["identical"] == 2


def test_who_has_private_reads_as_ever(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.txt", LEASE)
    drop("broken.pdf", "%PDF-1.7\nbroken")
    drop("~$Clara.tmp", "x")
    run(plan)
    story = pipeline.story(plan.site, "Anna.txt")
    assert story.entries[0].said["path"] == "Anna.txt"
    assert story.entries[0].closed == ()
    assert [entry["paths"] for entry in of_kind(plan, "inputs")] == [["~$Clara.tmp"]]
    drop("again.txt", LEASE)
    report = run(plan)
    assert (report.counts["duplicate"], len(of_kind(plan, "inputs"))) == (1, 1)
    assert run(plan, retry=frozenset(Failure)).counts["failed"] == 1
    assert pipeline.status(plan.site)[0].totals == {"done": 1, "duplicate": 1, "failed": 2}


def test_without_private_the_log_is_whole_and_says_nothing(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.txt", LEASE)
    run(plan)
    shutil.move(plan.site.root / "private", plan.site.root.parent / "elsewhere")
    (entry,) = of_kind(plan, "document")
    assert audit.is_commitment(entry["path"])
    assert (entry["document"], entry["markdown"]) == (None, None)
    with pytest.raises(LookupError):
        pipeline.story(plan.site, "Anna.txt")
    report = pipeline.verify(plan.site)
    assert not report.integrity
    assert ["private/sort" in finding.where for finding in report.absent if finding.entry == entry["n"]] == [True]
    drop("Anna.txt", LEASE)
    assert run(plan).counts["done"] == 1


@pytest.mark.parametrize("what", ["path", "document", "result_sha256"])
def test_another_value_opens_nothing_and_is_found(plan: RunPlan, drop: Drop, what: str) -> None:
    drop("Anna.txt", LEASE)
    run(plan)
    file, _ = openings(plan)
    row = json.loads(file.read_text())
    row[what][1] = "0" * 64
    file.write_text(json.dumps(row) + "\n")
    report = pipeline.verify(plan.site)
    assert not report.ok
    assert str(file.relative_to(plan.site.root)) in [finding.where for finding in report.altered]


@pytest.mark.parametrize(
    "body", ["", "{", "[]\n", "7\n", '{"n": 4}\n', '{"n": 4, "path": [1]}\n', '{"n": 4, "path": 7}\n']
)
def test_openings_that_are_none_open_nothing(plan: RunPlan, drop: Drop, body: str) -> None:
    drop("Anna.txt", LEASE)
    run(plan)
    openings(plan)[0].write_text(body)
    assert audit.is_commitment(of_kind(plan, "document")[0]["path"])
    assert not pipeline.verify(plan.site).ok


def test_rules_delete_from_private_jobs_too(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.txt", LEASE)
    run(plan)
    run(plan, retention=pipeline.plan.Retention(0, 0))
    assert not tree(plan.archive)
    assert not tree(plan.outbox)
    assert pipeline.verify(plan.site).complete
    assert pipeline.erase(plan.site, "Anna.txt", "asked for").rows == 0
    assert b"Anna" not in b"".join(path.read_bytes() for path in openings(plan))
    assert pipeline.verify(plan.site).complete


def test_openings_of_a_commit_that_did_not_happen_go(plan: RunPlan, drop: Drop) -> None:
    drop("Anna.txt", LEASE)
    run(plan)
    kept = openings(plan)
    kept[0].with_name("000000000999.jsonl").write_text('{"n": 999}\n')
    kept[0].with_name("000000000998.jsonl.tmp").write_text("{")
    kept[0].with_name("evidence.jsonl").write_text("{")
    kept[0].with_name("000000000997.jsonl").mkdir()
    run(plan)
    assert {"evidence.jsonl", "000000000997.jsonl"} <= {path.name for path in openings(plan)}, "it is told, not removed"
    assert set(kept) <= set(openings(plan))
    assert not {"000000000999.jsonl", "000000000998.jsonl.tmp"} & {path.name for path in openings(plan)}


def test_a_private_job_killed_again_and_again(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["pipeline.answer.compute"], "BATCH_DOCUMENTS", 2)
    whole = fill(make_plan(make_site(tmp_path / "whole"), tiny_model, part_documents=2))
    run(whole)
    plan = fill(make_plan(make_site(tmp_path / "killed"), tiny_model, part_documents=2, private=True))
    kills = 0
    while run_and_die(plan, 30 + 23 * kills):
        kills += 1
    run(plan)
    assert kills > 1
    assert rows(plan.site) == rows(whole.site)
    assert tree(plan.archive) == tree(whole.archive)
    assert tree(plan.failed).keys() == tree(whole.failed).keys()
    assert pipeline.verify(plan.site).complete


def test_other_jobs_and_erasures_keep_what_opens_inputs_without_a_row(
    plan: RunPlan, drop: Drop, tiny_model: Path
) -> None:
    drop("a.txt", LEASE)
    drop("~$Clara Wolf.tmp", "x")
    run(plan)
    before = {file: file.read_bytes() for file in openings(plan)}
    other = make_plan(plan.site, tiny_model, "other")
    (other.input.folder / "b.txt").write_text("An invoice: total due.")
    run(other)
    run(other, private=True)
    pipeline.hold(plan.site, "a.txt", "case 1")
    assert {file: file.read_bytes() for file in before} == before
    assert pipeline.story(plan.site, "~$Clara Wolf.tmp").entries
    (inputs,) = [file for file in before if b"Clara" in file.read_bytes()]
    inputs.unlink()
    report = pipeline.verify(plan.site)
    assert [finding.where for finding in report.absent] == [str(inputs.relative_to(plan.site.root))]
    assert pipeline.story(plan.site, "a.txt").entries
    with pytest.raises(LookupError):
        pipeline.story(plan.site, "~$Clara Wolf.tmp")


def test_private_is_for_its_owner_alone(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    run(plan)
    (plan.site.root / "private").chmod(0o755)
    with pytest.raises(PermissionError, match="chmod 700"):
        run(plan)
    (plan.site.root / "private").chmod(0o700)
    shutil.rmtree(plan.site.root / "private")
    witness = Witness()
    pipeline.run(plan, observer=witness)
    assert any("nothing in private/ opens" in event for event, _ in witness.notes)


def test_what_nothing_opens_is_not_replayed(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    run(plan)
    pipeline.erase(plan.site, "a.txt", "request 7", archive=True, rows=True)
    (told,) = pipeline.replay(plan.site, pipeline.Choice()).rows
    assert "it was erased" in told.reason


def test_an_export_opens_nothing(plan: RunPlan, drop: Drop, tmp_path: Path) -> None:
    drop("Anna.txt", LEASE)
    drop("~$Anna.tmp", "x")
    run(plan)
    (digest,) = (entry["document"] for entry in of_kind(plan, "document"))
    pipeline.export(plan.site, tmp_path / "out")
    files = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert b"hmac-sha256:" in b"".join(files)
    assert not any(b"Anna" in body or digest.encode() in body for body in files)
    assert standalone.main([str(tmp_path / "out")]) == 0
