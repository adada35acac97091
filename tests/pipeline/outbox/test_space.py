"""Too little room: looked for before runs and parts, logged in the room kept back, and the next run goes on."""

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import pipeline
from pipeline import (
    RunPlan,
    Site,
)
from pipeline.outbox import space
from pipeline.records.entries import read_entries
from tests.pipeline.conftest import Witness, make_plan

Drop = Callable[[str, bytes | str], Path]
EVERYTHING = 1 << 60


def types(site: Site) -> list[str]:
    return [entry.type for entry in read_entries(site)]


def run_refused(plan: RunPlan, observer: Witness | None = None) -> OSError:
    with pytest.raises(OSError, match="No space left on device: a part") as refused:
        pipeline.run(plan, observer=observer or Witness())
    assert refused.value.errno == errno.ENOSPC
    return refused.value


def test_a_run_that_has_no_room_touches_nothing_and_is_logged_once(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = drop("lease.txt", "The landlord leases the flat to the tenant.")
    with monkeypatch.context() as patch:
        patch.setattr(space, "MARGIN", EVERYTHING)
        run_refused(plan)
        assert types(plan.site) == ["run.stopped"]
        run_refused(plan)
        assert types(plan.site) == ["run.stopped"]
    assert document.exists()
    assert not list(plan.archive.rglob("*"))
    stopped = next(read_entries(plan.site)).said
    assert (stopped["job"], stopped["reason"], stopped["where"]) == (plan.job, "no_space", ".")
    assert pipeline.run(plan, observer=Witness()).counts["done"] == 1
    assert (plan.site.state / "reserve").stat().st_blocks * 512 >= space.RESERVE


def test_a_run_that_has_nothing_to_do_needs_no_room(plan: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "MARGIN", EVERYTHING)
    assert pipeline.run(plan, observer=Witness()).seen == 0


def test_a_part_that_has_no_room_stops_the_run_and_the_next_one_goes_on(
    site: Site, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(site, tiny_model, part_documents=2)
    for number in range(5):
        (plan.input.folder / f"{number}.txt").write_text(f"Invoice {number}. Total due: EUR {number}.00")

    class Filling(Witness):
        def note(self, event: str, **facts: str | int | float | None) -> None:
            if event == "part committed":
                monkeypatch.setattr(space, "MARGIN", EVERYTHING)

    run_refused(plan, Filling())
    assert len(list(plan.outbox.glob("*.parquet"))) == 1
    assert len(list(plan.input.folder.iterdir())) == 3
    assert types(site)[-1] == "run.stopped"
    assert pipeline.status(site)[0].last_state == "stopped"
    assert not [path for path in site.root.rglob(".staging/**/*") if path.is_file()]
    monkeypatch.undo()
    report = pipeline.run(plan, observer=Witness())
    assert (report.counts["done"], len(list(pipeline.results(site)))) == (3, 5)
    assert pipeline.verify(site).ok
    assert types(site)[-1] == "run.finished"


def test_a_disk_without_room_for_the_reserve_is_full(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is kept back then, so that a service that tries again and again does not fill the log either."""
    document = drop("lease.txt", "The landlord leases the flat to the tenant.")

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.posix_fallocate", full)
        with pytest.raises(OSError, match="reserve") as refused:
            pipeline.run(plan, observer=Witness())
        assert refused.value.errno == errno.ENOSPC
    assert (types(plan.site), document.exists()) == ([], True)
    assert not (plan.site.state / "reserve").exists()


def test_other_errors_leave_the_reserve(plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    drop("lease.txt", "The landlord leases the flat to the tenant.")

    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("pipeline.outbox.commit.look_before_part", broken)
    with pytest.raises(OSError, match="Input/output error"):
        pipeline.run(plan, observer=Witness())
    assert (plan.site.state / "reserve").exists()
    assert "run.stopped" not in types(plan.site)


@pytest.mark.parametrize(("private", "where"), [(True, "outbox"), (False, "outbox/sort/_markdown/Anna Meier.txt.md")])
def test_of_a_private_job_the_log_does_not_say_which_file_had_no_room(plan: RunPlan, private: bool, where: str) -> None:
    """The error is one that a full disk gives, which tests/faults/full.py fills; its file is named as a document."""
    space.hold_reserve(plan.site)
    name = str(plan.outbox / "_markdown" / "Anna Meier.txt.md")
    space.log_full(replace(plan, private=private), "r", OSError(errno.ENOSPC, "No space left on device", name))
    (stopped,) = [entry.said for entry in read_entries(plan.site) if entry.type == "run.stopped"]
    assert stopped["where"] == where
