"""What `verify` says of private/: missing or unreadable, it accuses nobody; what nobody made in it is a finding."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import RunPlan
from pipeline.proof.verify import Verification
from tests.pipeline.conftest import Witness, copied, make_plan, make_site
from tests.pipeline.outbox.test_recover import fill, run_and_die
from tests.pipeline.test_containers import zipped
from tests.thorough import ALL

Drop = Callable[[str, bytes | str], Path]
LEASE = "The landlord leases the flat to the tenant."
SPOILED: dict[str, Callable[[Path], Any]] = {
    "missing": shutil.rmtree,
    "a file": lambda private: (shutil.rmtree(private), private.write_text("")),
    "a link to itself": lambda private: (shutil.rmtree(private), private.symlink_to(private)),
    "without the job's folder": lambda private: shutil.rmtree(private / "sort"),
    "folders in the place of files": lambda private: [(path.unlink(), path.mkdir()) for path in private.glob("*/*")],
}


def run(plan: RunPlan, **changes: Any) -> pipeline.RunReport:
    return pipeline.run(replace(plan, **changes), observer=Witness())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> RunPlan:
    """A private job with documents in all states and a container, after two runs."""
    plan = make_plan(make_site(tmp_path_factory.mktemp("openings") / "ws"), tiny_model, private=True)
    letter, lease = b"%PDF-1.7\nbroken", LEASE.encode()
    mail = zipped({"Clara.txt": b"Total due: 3."})
    run(fill(plan, {"Anna.txt": lease, "copy of Anna.txt": lease, "Bernd.pdf": letter, "post.zip": mail}))
    run(fill(plan, {"Anna.txt": lease + b" Again.", "Bernd.pdf": letter + b" again"}))
    assert pipeline.verify(plan.site).complete
    return plan


@pytest.fixture
def ran(made: RunPlan, tmp_path: Path) -> RunPlan:
    """The same in a workspace of its own."""
    return copied(made, tmp_path / "workspace")


def accusations(report: Verification) -> list[audit.Finding]:
    return [*report.integrity, *report.altered, *report.added]


@pytest.mark.parametrize("how", SPOILED)
def test_private_that_cannot_be_read_accuses_nobody(ran: RunPlan, how: str) -> None:
    SPOILED[how](ran.site.root / "private")
    report = pipeline.verify(ran.site)
    assert (report.sound, report.ok, report.complete, report.read) == (True, True, False, False)
    assert accusations(report) == []
    assert "9 entries of private jobs cannot be opened" in str(report.private)
    beside = {finding.where.split("/")[0] for finding in report.unjudged}
    assert beside == {"outbox", "archive", "failed"}, report.unjudged
    assert report.checked["parts"] == 2, "the sha256 of parts is in the clear"


def test_what_is_wrong_with_the_folder_is_said(ran: RunPlan) -> None:
    private = ran.site.root / "private"
    private.rename(ran.site.root / "elsewhere")
    assert str(pipeline.verify(ran.site).private).startswith("private/ is missing: ")
    private.write_text("")
    assert str(pipeline.verify(ran.site).private).startswith("private/ cannot be read (Not a directory): ")
    private.unlink()
    (ran.site.root / "elsewhere").rename(private)
    assert pipeline.verify(ran.site).private is None
    next(private.rglob("*.jsonl")).unlink()
    assert str(pipeline.verify(ran.site).private).startswith("private/ is not whole: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
def test_an_auditor_who_may_not_read_private_gets_the_verdict_on_the_log(ram_folder: Path, tiny_model: Path) -> None:
    plan = replace(make_plan(make_site(ram_folder / "workspace"), tiny_model), private=True)
    (plan.input.folder / "Anna.txt").write_text(LEASE)
    run(plan)
    ram_folder.chmod(0o755)
    told, tell = os.pipe()
    if not (child := os.fork()):
        try:
            os.seteuid(65534)
            report = pipeline.verify(plan.site)
            os.write(tell, json.dumps([report.sound, len(accusations(report)), report.read, report.private]).encode())
        finally:  # else the child would go on with the tests
            os._exit(0)
    os.close(tell)
    with os.fdopen(told, "rb") as answer:
        sound, accused, read, private = json.loads(answer.read())
    os.waitpid(child, 0)
    assert (sound, accused, read) == (True, 0, False)
    assert private == "private/ cannot be read (Permission denied): 2 entries of private jobs cannot be opened"


def test_what_another_job_keeps_is_judged_all_the_same(ran: RunPlan, tiny_model: Path) -> None:
    other = make_plan(ran.site, tiny_model, "open")
    (other.input.folder / "b.txt").write_text("An invoice: total due.")
    run(other)
    (other.outbox / "evil.md").write_text("nobody made this")
    (ran.outbox / "link.md").symlink_to("/etc/passwd")
    shutil.rmtree(ran.site.root / "private")
    report = pipeline.verify(ran.site)
    assert {finding.where for finding in report.added} == {"outbox/open/evil.md", "outbox/sort/link.md"}


def test_a_part_or_an_archived_document_that_was_altered_is_accused_without_private(ran: RunPlan) -> None:
    (part, *_) = sorted(ran.outbox.glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-1])
    shutil.rmtree(ran.site.root / "private")
    assert str(part.relative_to(ran.site.root)) in {finding.where for finding in pipeline.verify(ran.site).altered}


def test_what_a_closed_entry_may_have_replaced_is_not_called_altered(ran: RunPlan) -> None:
    """Of two runs over the same names, only the later one's openings are lost."""
    *_, documents, _report = sorted((ran.site.root / "private" / "sort").iterdir())
    documents.unlink()
    report = pipeline.verify(ran.site)
    assert (accusations(report), report.read) == ([], False)
    assert "outbox/sort/_markdown/Anna.txt.md" in {finding.where for finding in report.unjudged}


STRAYS: dict[str, Callable[[Path], Any]] = {
    "private/evil.txt": lambda path: path.write_text("x"),
    "private/sort/evil.jsonl": lambda path: path.write_text("x"),
    "private/sort/000000009999.jsonl": lambda path: path.write_text('{"n": 9999}\n'),
    "private/sort/000000000001.jsonl": lambda path: path.write_text('{"n": 1}\n'),
    "private/sort/deeper/000000000001.jsonl": lambda path: (path.parent.mkdir(), path.write_text("")),
    "private/other/000000000001.jsonl": lambda path: (path.parent.mkdir(), path.write_text("")),
    "private/sort/link.jsonl": lambda path: path.symlink_to("/etc/passwd"),
    "private/link": lambda path: path.symlink_to("sort"),
    "private/sort/pipe": os.mkfifo,
}


@pytest.mark.parametrize("where", STRAYS)
def test_what_nobody_made_in_private_is_a_finding(ran: RunPlan, where: str) -> None:
    STRAYS[where](ran.site.root / where)
    report = pipeline.verify(ran.site)
    assert [finding.where for finding in report.added] == [where]
    assert report.private is None


def test_a_file_of_openings_that_is_a_link_now_is_a_finding(ran: RunPlan) -> None:
    (file, *_) = sorted((ran.site.root / "private").rglob("*.jsonl"))
    file.rename(ran.site.root / "elsewhere.jsonl")
    file.symlink_to(ran.site.root / "elsewhere.jsonl")
    assert [finding.where for finding in pipeline.verify(ran.site).added] == [str(file.relative_to(ran.site.root))]


def test_a_pipe_in_the_place_of_a_file_of_openings_is_a_finding_and_waited_for_by_nobody(ran: RunPlan) -> None:
    (file, *_) = sorted((ran.site.root / "private").rglob("*.jsonl"))
    file.unlink()
    os.mkfifo(file)
    report, name = pipeline.verify(ran.site), str(file.relative_to(ran.site.root))
    assert [finding.where for finding in report.added] == [name]
    assert {finding.where for finding in report.altered} == {name}
    assert report.private == "private/ is not whole: 5 entries of private jobs cannot be opened"


@pytest.mark.parametrize(
    "more", ['{"n": 4242, "path": ["00", "x"]}\n', "\n", '{"n": true}\n', "{}\n", "[1]\n"], ids=str
)
def test_more_lines_than_entries_are_a_finding(ran: RunPlan, more: str) -> None:
    (file, *_) = sorted((ran.site.root / "private").rglob("*.jsonl"))
    file.write_text(file.read_text() + more)
    report = pipeline.verify(ran.site)
    assert {finding.where for finding in report.altered} == {str(file.relative_to(ran.site.root))}


def test_a_member_that_no_entry_has_is_a_finding(ran: RunPlan) -> None:
    (file, *_) = sorted((ran.site.root / "private").rglob("*.jsonl"))
    first, *others = file.read_text().splitlines(keepends=True)
    file.write_text("".join([json.dumps({**json.loads(first), "note": ["00", "x"]}) + "\n", *others]))
    assert not pipeline.verify(ran.site).ok


def test_openings_of_what_was_erased_that_came_back_are_told(ran: RunPlan) -> None:
    (file, *_) = sorted((ran.site.root / "private").rglob("*.jsonl"))
    before = file.read_bytes()
    pipeline.erase(ran.site, "copy of Anna.txt", "request 7", archive=True, rows=True)
    assert pipeline.verify(ran.site).complete
    file.write_bytes(before)
    assert any("which was erased" in note for note in pipeline.verify(ran.site).notes)


def test_killed_anywhere_a_run_leaves_nothing_in_private_that_is_accused(tmp_path: Path, tiny_model: Path) -> None:
    whole = replace(make_plan(make_site(tmp_path / "whole"), tiny_model, part_documents=2), private=True)
    fill(whole, {f"{name}.txt": f"{LEASE} {name}".encode() for name in ("Anna", "Bernd", "Clara")})
    step, waiting = 3 if ALL else 5, 0
    while True:
        plan = copied(whole, tmp_path / str(step))
        site = plan.site
        killed = run_and_die(plan, step)
        report = pipeline.verify(site)
        assert (report.ok, report.absent, report.private) == (True, (), None), (step, report)
        waiting += any(note.startswith("private: ") for note in report.notes)
        if not killed:
            break
        run(plan)
        assert pipeline.verify(site).notes == (), step
        step += 4 if ALL else 14
    assert waiting, "some kill came between the openings and their commit"
