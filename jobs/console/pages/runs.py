"""Runs: a list of them, and one of them with its settings and what changed in them since the job's last run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response

import pipeline
from jobs.console.attempt import attempt
from jobs.console.house import House, Visit
from jobs.console.page import Page
from jobs.console.pages.home import turn
from jobs.console.render import render
from jobs.console.rights import Right

_LIMIT: Final = 50
_MOST_HAPPENINGS: Final = 200


@dataclass(frozen=True)
class Change:
    """Holds what changed in the settings since the last run of the job with others. `before` is that run; `same`:
    nothing that determines results did; `file`: the job's file did all the same."""

    before: pipeline.RunTold | None
    differences: Sequence[pipeline.Difference]
    same: bool
    file: bool


def _runs(visit: Visit) -> Response:
    job, before = visit.query.get("job") or None, _number(visit.query.get("before"))
    found = attempt(lambda: runs_of(visit.house, job, before))
    return render(
        visit,
        "runs.html",
        runs=found,
        jobs=attempt(lambda: sorted(each.name for each in visit.house.present.jobs())),
        job=job,
        before=before,
        limit=_LIMIT,
        running=visit.house.present.running(),
        behind=attempt(visit.house.indexes.behind),
        turn=turn(visit.house),
    )


def runs_of(house: House, job: str | None, before: int | None = None, limit: int = _LIMIT) -> list[pipeline.RunTold]:
    """The last runs, of one job or of all."""
    with house.indexes.opened() as index:
        return index.runs(job, before, limit)


def _run(visit: Visit) -> Response:
    house = visit.house
    with house.indexes.opened() as index:
        run = index.run(str(visit.path["run"]))
        numbers = [each.n for each in index.happenings(run.first, run.last, _MOST_HAPPENINGS) if each.run == run.run]
    running = house.present.running()
    settings = attempt(lambda: pipeline.settings_in_words(settings_of(house, run.job_digest) or {}))
    return render(
        visit,
        "run.html",
        run=run,
        state="running" if running and running.run == run.run else run.state,
        settings=settings,
        change=attempt(lambda: change_of(house, run)),
        night=attempt(lambda: _night(house, run)),
        happened=attempt(lambda: [(each.n, each.time, each.says()) for each in _entries(house, numbers)]),
        turn=turn(house),
    )


def settings_of(house: House, digest: str | None) -> Mapping[str, Any] | None:
    """The settings of a digest, as the log keeps them; None if there is no digest."""
    if digest is None:
        return None
    with house.indexes.opened() as index:
        first = index.settings_at(digest)
    if first is None:
        raise LookupError(f"The log does not have the settings {digest[:12]}.")
    return pipeline.read_settings(house.site, first, digest)


def change_of(house: House, run: pipeline.RunTold) -> Change | None:
    """Return what changed since the run of the job before this one that had settings; None if this one has none."""
    if run.job_digest is None:
        return None
    with house.indexes.opened() as index:
        earlier = next((each for each in index.runs(run.job, run.first, 200) if each.job_digest), None)
    if earlier is None:
        return Change(None, (), False, False)
    file = None not in (earlier.job_file_sha256, run.job_file_sha256)
    file = file and earlier.job_file_sha256 != run.job_file_sha256
    if earlier.job_digest == run.job_digest:
        return Change(earlier, (), True, file)
    before, after = settings_of(house, earlier.job_digest), settings_of(house, run.job_digest)
    return Change(earlier, pipeline.differences(before or {}, after or {}), False, file)


def _entries(house: House, numbers: Sequence[int]) -> Iterable[pipeline.Record]:
    return pipeline.entries_at(house.site, numbers)


def _night(house: House, run: pipeline.RunTold) -> str | None:
    """The night that a run belongs to, by which the queue shows its rows."""
    with house.indexes.opened() as queue:
        return next((night.night for night in queue.nights(run.job) if run.run in night.runs), None)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 16 else None


PAGES = (
    Page("/runs", _runs, Right.LISTS, asks=("job", "before")),
    Page("/runs/{run:str}", _run, Right.LISTS),
)
