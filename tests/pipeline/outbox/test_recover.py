"""Killed anywhere and started again, a run ends with the same rows as one never killed."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import pipeline
from pipeline import Failure, RunPlan, Site
from tests.pipeline.conftest import Witness, make_plan, make_site
from tests.pipeline.test_containers import INVOICE, LEASE, zipped
from tests.thorough import ALL

KILLED = 77
WRITES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree"}
DOCUMENTS = {
    "a/lease.txt": b"The landlord leases the flat to the tenant.",
    "b/copy.txt": b"The landlord leases the flat to the tenant.",
    "broken.pdf": b"%PDF-1.7\nbroken",
    "empty.txt": b"",
    "invoice.md": b"# Invoice 9\n\nTotal due: EUR 12.00",
}
VARYING = {"run", "audit_index", "tokens", "seconds", "finished_at", "supersedes", "replaces"}


def fill(plan: RunPlan, documents: Mapping[str, bytes] = DOCUMENTS) -> RunPlan:
    for name, body in documents.items():
        path = plan.input.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    return plan


def run_and_die(plan: RunPlan, step: int, act: Callable[[], object] | None = None) -> bool:
    """Run, or `act`, in a child killed before its `step`-th change of the file system; whether it came that far."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            left = step

            def count(event: str, arguments: tuple[object, ...]) -> None:
                nonlocal left
                writes = event in WRITES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & 3)
                if writes and str(plan.site.root) in str(arguments[0]):
                    left -= 1
                    if left < 0:
                        os._exit(KILLED)

            sys.addaudithook(count)
            act() if act else pipeline.run(plan, observer=Witness())
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED)
    return code == KILLED


def rows(site: Site) -> list[dict[str, object]]:
    return [{k: v for k, v in row.items() if k not in VARYING} for row in pipeline.results(site)]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Site:
    plan = fill(make_plan(make_site(tmp_path_factory.mktemp("undisturbed") / "ws"), tiny_model))
    pipeline.run(plan, observer=Witness())
    return plan.site


def test_killed_before_every_change(tmp_path: Path, tiny_model: Path, undisturbed: Site) -> None:
    step, killed = 0, True
    while killed:
        plan = fill(make_plan(make_site(tmp_path / str(step)), tiny_model))
        killed = run_and_die(plan, step)
        if killed:
            pipeline.run(plan, observer=Witness())
        assert rows(plan.site) == rows(undisturbed), step
        assert tree(plan.archive) == tree(undisturbed.root / "archive" / "sort"), step
        assert tree(plan.failed).keys() == tree(undisturbed.root / "failed" / "sort").keys(), step
        assert not any(path.is_file() for path in plan.input.folder.rglob("*")), step
        report = pipeline.verify(plan.site)
        assert report.ok, (step, report.integrity, report.altered)
        assert not report.absent, step
        step += 1 if ALL else 11  # not every one: each costs two runs
    assert step > 25


def test_killed_twice_in_a_row(tmp_path: Path, tiny_model: Path, undisturbed: Site) -> None:
    for first, second in [(12, 3), (20, 8), (30, 2)]:
        plan = fill(make_plan(make_site(tmp_path / f"{first}-{second}"), tiny_model))
        run_and_die(plan, first)
        run_and_die(plan, second)
        pipeline.run(plan, observer=Witness())
        assert rows(plan.site) == rows(undisturbed)
        assert pipeline.verify(plan.site).ok


def test_a_file_that_replaced_a_committed_one_stays(tmp_path: Path, tiny_model: Path) -> None:
    plan = fill(make_plan(make_site(tmp_path / "ws"), tiny_model))

    class Replacing(Witness):
        def finished(self, path: str, state: str, reason: str | None) -> None:
            super().finished(path, state, reason)
            (plan.input.folder / "invoice.md").write_text("# Another invoice, put here meanwhile")

    pipeline.run(plan, observer=Replacing())
    assert (plan.input.folder / "invoice.md").read_text() == "# Another invoice, put here meanwhile"
    assert pipeline.verify(plan.site).ok


MAIL = (
    b"""From: Anna <anna@example.org>
Subject: Papers
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=frontier

--frontier
Content-Type: text/plain

The landlord of the flat sends two papers.
--frontier
Content-Type: text/plain
Content-Disposition: attachment; filename=first.txt

%s
--frontier
Content-Type: text/plain
Content-Disposition: attachment; filename=second.txt

The total due is EUR 77.
--frontier--
"""
    % INVOICE
)
POST = {
    "copy.txt": LEASE,
    "mail.eml": MAIL,
    "post.zip": zipped(
        {
            "a/lease.txt": LEASE,
            "broken.pdf": b"%PDF-1.7\nbroken",
            "inner.zip": zipped({"note.txt": b"The tenant of the flat.", "lease.txt": LEASE}),
            "../away.txt": b"The landlord was away.",
            "last.txt": b"The last paper: total due.",
        }
    ),
    "post.zip!/a/lease.txt": LEASE,
    "z.txt": b"The landlord was away.",
}


def prepared(tmp_path: Path, model: Path, rule: str, afterwards: str, again: bool) -> RunPlan:
    """A workspace in which little is committed at a time; `again`: with documents that failed, to be taken up again."""
    plan = make_plan(make_site(tmp_path), model, part_documents=2)
    plan = fill(replace(plan, input=replace(plan.input, duplicates=rule, afterwards=afterwards)), POST)
    if not again:
        return plan
    few = replace(plan.site.limits, output_characters=20, unpacked_documents=4)
    pipeline.run(replace(plan, site=replace(plan.site, limits=few)), observer=Witness())
    return replace(plan, retry=frozenset(Failure))


@pytest.mark.parametrize(
    ("rule", "afterwards", "again"),
    [("skip", "archive", False), ("process", "archive", False), ("warn", "keep", False), ("skip", "archive", True)],
)
def test_containers_killed_again_and_again(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, rule: str, afterwards: str, again: bool
) -> None:
    """Computed and committed in twos, so that documents of one container are spread over runs."""
    monkeypatch.setattr(sys.modules["pipeline.answer.compute"], "BATCH_DOCUMENTS", 2)
    whole = prepared(tmp_path / "whole", tiny_model, rule, afterwards, again)
    pipeline.run(whole, observer=Witness())
    plan = prepared(tmp_path / "killed", tiny_model, rule, afterwards, again)
    kills = 0
    while run_and_die(plan, 35 + (23 if ALL else 31) * kills):
        kills += 1
    pipeline.run(plan, observer=Witness())
    assert kills > 3
    assert rows(plan.site) == rows(whole.site)
    assert tree(plan.archive) == tree(whole.archive)
    assert tree(plan.failed).keys() == tree(whole.failed).keys()
    assert tree(plan.input.folder) == tree(whole.input.folder)
    check = pipeline.verify(plan.site)
    assert (check.ok, check.absent) == (True, ())
