"""`cloister plan`: what waits for jobs, when it will be done, and what would finish it tonight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import typer

import pipeline
from jobs.cli.describe import duration, size_of
from jobs.cli.options import JsonOption, SomeJobsArgument, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.load import shown
from jobs.config.plan import make_plan, make_site
from jobs.config.workspace import Workspace, find_job, load_job_of, open_workspace
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.nights.ahead import Ahead, Remedy, look_ahead, remedies
from jobs.nights.cluster import Found, Seen, ask, see
from jobs.visible import counted, one_line


@dataclass(frozen=True)
class Planned:
    """One job: what is ahead of it, or what is wrong with it."""

    job: str
    problems: tuple[Problem, ...] = ()
    ahead: Ahead | None = None
    memory: pipeline.Memory | str | None = None
    ways: Sequence[Remedy] = ()
    held: Sequence[pipeline.Held] = ()
    after: str | None = None
    cluster: Seen | None = None
    model: str = ""


def plan(jobs: SomeJobsArgument = None, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Say what waits for jobs, all of the workspace if none is named, and when it will be done.

    By what documents of the same kind took in earlier runs with the same model, which the log has, of this job or else
    of another one: how many will be
    done when the window of the next run ends, when all will be, which file takes longest, the memory that a run takes
    at most, what would finish it tonight, and how good earlier forecasts were. No document is read. Exit 2: a mistake
    in a job.
    """
    place = open_workspace(workspace)
    names = jobs or [shown(path) for path in (*place.job_files(), *place.misnamed_files())]
    if not names:
        found, remedy = (
            f"no job in {shown(place.jobs)}",
            "begin one: cloister new JOB; or copy an example: cloister init DIR --example NAME",
        )
        raise ConfigError(Problem("cloister plan", found, "jobs/NAME.yaml", remedy))
    now = datetime.now(UTC)
    beside = [shown(path) for path in place.job_files() if not {path.stem, shown(path)} & {*names}]
    others = plan_all(place, [*names, *beside], now)
    planned = others[: len(names)]
    code = ExitCode.BAD_CONFIG if any(each.problems for each in planned) else ExitCode.DONE
    if as_json:
        print_json({"jobs": [_to_json(each, _beside(each, others)) for each in planned], "exit_code": int(code)})
    else:
        for number, each in enumerate(planned):
            if number:
                say()
            _print(each, _beside(each, others))
    raise typer.Exit(int(code))


def plan_all(place: Workspace, names: Sequence[str], now: datetime) -> list[Planned]:
    """What is ahead of each job at the moment `now`, by one pass over the log."""
    loaded, planned = {}, dict[str, Planned]()
    for name in names:
        try:
            job = load_job_of(place, find_job(place, name))
            loaded[name] = job, make_plan(place, job)
        except ConfigError as error:
            planned[name] = Planned(name, problems=error.problems)
    keeping = {each.job: set[str]() for _, each in loaded.values() if each.keeps}
    costs, register, met = pipeline.AllCosts(), pipeline.Register(), pipeline.MetFiles(keeping)
    known = {each.job: each.unread for each in pipeline.status(make_site(place), register, costs, met)}
    found = dict[str, Found]()
    for name, (job, run) in loaded.items():
        cluster = _cluster(run, pipeline.machines_of(run, costs), found)
        scan = pipeline.set_aside(pipeline.scan(run.input), known.get(run.job, {}), run.site.max_document_bytes)
        files = pipeline.waiting(scan, met.jobs.get(run.job, ()))
        ahead = look_ahead(
            job.config, files, pipeline.known_costs(run, costs, register), now, cluster.machines if cluster else 1
        )
        its = costs.jobs.get(run.job, pipeline.JobCosts())
        try:
            memory: pipeline.Memory | str = pipeline.memory_of(run)
            ways = tuple(remedies(run, ahead, its, register))
        except pipeline.ModelRefusedError as error:
            memory, ways = str(error), ()
        planned[name] = Planned(job.name, (), ahead, memory, ways, its.held, job.config.after, cluster, run.model.name)
    return [planned[name] for name in names]


def _cluster(run: pipeline.RunPlan, before: int, found: dict[str, Found]) -> Seen | None:
    """The cluster of a run, whose last run had `before` machines; None without one. Each scheduler is asked once, and
    what it says is kept in `found`."""
    if run.cluster is None:
        return None
    if run.cluster.scheduler not in found:
        found[run.cluster.scheduler] = ask(run.cluster)
    return see(run.cluster, found[run.cluster.scheduler], before)


def _beside(one: Planned, others: Sequence[Planned]) -> list[str]:
    """The jobs whose next runs are expected while this one's goes on: runs of a workspace wait for one another."""
    mine = _first_run(one)
    spans = [(each.job, span) for each in others if each.job != one.job and (span := _first_run(each))]
    return [job for job, (start, end) in spans if mine and start < mine[1] and mine[0] < end]


def _first_run(one: Planned) -> tuple[datetime, datetime] | None:
    if one.ahead is None or one.ahead.outlook is None or not one.ahead.files:
        return None
    return one.ahead.start, one.ahead.start + timedelta(seconds=one.ahead.outlook.tonight_seconds)


def _to_json(one: Planned, beside: Sequence[str]) -> dict[str, Any]:
    ahead = one.ahead
    if ahead is None:
        return {"job": one.job, "problems": one.problems}
    errors, told = pipeline.median_errors(one.held), ahead.outlook
    return {
        "job": one.job,
        "files": len(ahead.files),
        "bytes": ahead.bytes,
        "start": ahead.start,
        "after": one.after,
        "until": ahead.until,
        "forecast": None if told is None else _forecast(ahead, told),
        "memory": one.memory,
        "cluster": one.cluster,
        "remedies": one.ways,
        "beside": beside,
        "earlier": errors and {"forecasts": len(one.held), "documents_error": errors[0], "seconds_error": errors[1]},
    }


def _forecast(ahead: Ahead, told: pipeline.Outlook) -> dict[str, Any]:
    assert ahead.known is not None
    threads, costs = ahead.known
    return {
        "documents": round(told.documents),
        "tokens": round(told.tokens),
        "seconds": round(told.seconds, 1),
        "ready_seconds": round(told.ready, 1),
        "documents_tonight": round(told.tonight),
        "all_tonight": ahead.all_tonight,
        "done_at": ahead.done_at,
        "blocking": told.blocking and _file(told.blocking),
        "slowest": told.slowest and _file(told.slowest),
        "rests_on": {"documents": costs.rows, "runs": len(costs.runs), "threads": threads, "job": costs.of_job},
    }


def _file(found: tuple[pipeline.File, pipeline.Expected]) -> dict[str, Any]:
    file, expected = found
    return {"path": file.path, "size": file.size} | {
        "tokens": round(expected.tokens), "seconds": round(expected.seconds, 1),
    }  # fmt: skip


def _print(one: Planned, beside: Sequence[str]) -> None:
    for problem in one.problems:
        say(str(problem))
    ahead = one.ahead
    if ahead is None:
        return
    say(one.job)
    say(f"  waiting   {counted(len(ahead.files), 'file')}, {size_of(ahead.bytes)}")
    until = f", in its window until {ahead.until:%a %Y-%m-%d %H:%M}" if ahead.until else ""
    if one.after:
        say(f"  next run  when a run of {one.after} has finished{until}; what follows is said as if it were now")
    else:
        say(f"  next run  {ahead.start:%a %Y-%m-%d %H:%M %Z}{until}")
    if ahead.outlook is not None:
        _print_outlook(one, ahead, ahead.outlook)
    elif ahead.files:
        nothing = "nothing is known yet: the log has no run of this job with this model"
        say(f"  expected  {nothing}, nor of another one. After the first it is")
    _print_memory(one.memory)
    if one.cluster:
        said = f"; {one_line(one.cluster.problem)}" if one.cluster.problem else ""
        say(f"  cluster   {counted(one.cluster.machines, 'machine')} by {one.cluster.address}{said}")
    for way in one.ways:
        say(f"  would do  {one_line(way.sentence)}")
    if beside:
        said = "fall into that time: they wait for one another, which is not counted"
        say(f"  beside    runs of {', '.join(beside)} {said}")
    if errors := pipeline.median_errors(one.held):
        of = counted(len(one.held), "forecast")
        say(f"  earlier   {of}: off by {errors[0]:.0%} of the documents and {errors[1]:.0%} of the seconds (median)")


def _print_outlook(one: Planned, ahead: Ahead, told: pipeline.Outlook) -> None:
    assert ahead.known is not None
    if not ahead.files:
        return
    threads, costs = ahead.known
    rests = f"by {counted(costs.rows, 'document')} with {counted(threads, 'thread')}"
    if costs.of_job is not None:
        rests = f"by the pace of model {one.model} in job {costs.of_job}, {rests}"
    say(f"  expected  {round(told.tokens):,} tokens, {duration(told.ready + told.seconds)}; {rests}")
    if ahead.until and not ahead.all_tonight:
        say(f"  tonight   {round(told.tonight):,} of {counted(round(told.documents), 'document')}")
    done = ahead.done_at
    say(f"  all done  {f'about {done:%a %Y-%m-%d %H:%M}' if done else 'not at all, as it is'}")
    if told.blocking:
        said = "which no window of the job holds: it and what is behind it are not started; lengthen the window"
        say(f"  blocking  {_in_words(told.blocking)}, {said}")
    elif told.slowest and len(ahead.files) > 1:
        say(f"  slowest   {_in_words(told.slowest)}")


def _in_words(found: tuple[pipeline.File, pipeline.Expected]) -> str:
    file, expected = found
    return f"{one_line(file.path)} ({size_of(file.size)}): about {duration(expected.seconds)}"


def _print_memory(memory: pipeline.Memory | str | None) -> None:
    if isinstance(memory, str):
        say(f"  memory    not known: {one_line(memory)}")
    elif memory:
        cache = "half of what is free" if memory.cache is None else size_of(memory.cache)
        keys = f", keys and values {cache}" if memory.cache != 0 else ""
        told = f"texts {size_of(memory.texts)}{keys}, all parsers {size_of(memory.parsers)}"
        say(f"  memory    at most: model {size_of(memory.model)}, {told}")
