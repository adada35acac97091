"""`cloister status`: the jobs of a workspace, what waits for them and what became of their last run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeAlias

import audit
import pipeline
from jobs.cli.options import option
from jobs.cli.printing import LISTED, Answer, At, counts_line, duration, first_few, starts
from jobs.config.load import LoadedJob, shown
from jobs.config.plan import check_places, load_and_plan, refusal_of
from jobs.errors import ConfigError, ExitCode
from jobs.nights.ahead import look_ahead, next_start_of
from jobs.nights.watch import Beside
from jobs.stop import holder
from jobs.trust.doctor import hindrances
from jobs.trust.needs import needs
from jobs.visible import counted, inside_in_words, moment, one_line

_UNSERVED = timedelta(hours=1)
_Loaded: TypeAlias = "tuple[LoadedJob, pipeline.RunPlan] | ConfigError | OSError"


def status(
    at: At,
    check: Annotated[
        bool, option("--check", "Print only what needs a person, one line for each thing; exit 7 if anything does.")
    ] = False,
) -> Answer:
    """Show each job: next start, waiting files, last run, totals.

    Also the size of the audit log, and which processes run or serve the workspace. With --check, for monitoring: a job
    that is broken or refused, a last run that failed or was cut off, a start that no service made for an hour, a log
    that was not verified for log.verify_days of site.yaml, a disk that is nearly full, and what would stop any run this
    evening, as `cloister check` finds it.
    """
    checked = pipeline.proof.LastVerified()
    told = _look(at, checked, thorough=check)
    if not check:
        return Answer(told, _lines(told))
    found = needs(at.workspace, told["jobs"], list(hindrances(at.workspace)), checked)
    code = ExitCode.NEEDS_PERSON if found else ExitCode.DONE
    lines = (f"{each.job or 'site'}: {one_line(each.sentence)}" for each in found)
    return Answer({"needs": list(map(asdict, found)), "exit_code": code}, lines, code)


@dataclass(frozen=True)
class _Log:
    """What the log says of all jobs, and the run that is on its way; `starts`: what it says of their starts, where no
    service works on them."""

    known: dict[str, pipeline.proof.JobStatus]
    register: pipeline.records.Register
    costs: pipeline.records.AllCosts
    met: pipeline.records.MetFiles
    on_its_way: pipeline.outbox.Running | None
    starts: pipeline.proof.ServiceNow | None
    thorough: bool


def _look(at: At, checked: pipeline.proof.LastVerified, *, thorough: bool) -> dict[str, Any]:
    """All that is shown. `checked` comes to know when the log was verified. `thorough`: model files are read whole, if
    that was not done before, and the log for quality that jobs demand."""
    place, site, register = at.workspace, at.site, pipeline.records.Register()
    loaded = {path: load_and_plan(place, path) for path in place.job_files()}
    plans = [each[1] for each in loaded.values() if isinstance(each, tuple)]
    costs, met = (
        pipeline.records.AllCosts(),
        pipeline.records.MetFiles({each.job: set() for each in plans if each.keeps}),
    )
    known = {each.job: each for each in pipeline.status(site, register, checked, costs, met)}
    holds, on_its_way = holder(site.audit / "lock"), pipeline.running(site)
    if on_its_way and holds not in (0, on_its_way.pid):  # the kernel does not say of a process elsewhere which it is
        on_its_way = None
    for each in known.values():  # a rule or a person may have removed it
        each.report = each.report if each.report and os.access(place.root / each.report, os.R_OK) else None
    serves = holder(place.log)
    log = _Log(
        known, register, costs, met, on_its_way, pipeline.proof.ServiceNow(site) if serves is None else None, thorough
    )
    if log.starts:
        log.starts.look()
    readable = [each[0] for each in loaded.values() if isinstance(each, tuple)]
    beside = Beside(place, readable, [path.stem for path in loaded])
    jobs = [_job(path.stem, _fitting(each, beside), log) for path, each in loaded.items()]
    named = {job["job"] for job in jobs}
    return {
        "workspace": str(place.root),
        "log": {"origin": site.origin, "size": audit.read_checkpoint(site.audit, site.public_key).size},
        "run": holds,
        "running": on_its_way.to_json() if on_its_way else None,
        "serve": serves,
        "jobs": jobs,
        "without_file": [
            {"job": name, **_history(each, on_its_way)} for name, each in known.items() if name not in named
        ],
        "other_files": [shown(path) for path in place.other_files()],
    }


def _fitting(loaded: _Loaded, beside: Beside) -> _Loaded:
    """The job and its plan, or why it does not fit those beside it."""
    try:
        if isinstance(loaded, tuple):
            beside.check(loaded[0])
    except ConfigError as error:
        return error
    return loaded


def _not_served(job: LoadedJob, starts: pipeline.proof.ServiceNow | None) -> str | None:
    """The first start that no service made for an hour, and that the log leaves open; None if there is none."""
    if starts is None or job.config.schedule is None or (since := starts.known(job.name).open_from) is None:
        return None
    start = job.config.schedule.next_start(since)
    late = start is not None and datetime.now(UTC) - start > _UNSERVED
    return moment(start) if start and late else None


def _job(name: str, loaded: _Loaded, log: _Log) -> dict[str, Any]:
    history = _history(log.known.get(name), log.on_its_way)
    try:
        if not isinstance(loaded, tuple):
            raise loaded
        job, plan = loaded
        before = log.known[name].unread if name in log.known else {}
        scan = pipeline.inbox.set_aside(pipeline.scan(plan.input), before, plan.site.max_document_bytes)
        if plan.site.root.stat().st_uid == os.geteuid():  # others would not run it
            check_places(plan, scan.ready)
    except (ConfigError, OSError) as error:
        return {"job": name, "state": "broken", "problems": str(error), **history}
    start, refused = next_start_of(job), refusal_of(plan, log.register, thorough=log.thorough)
    return {
        "job": job.name,
        "state": _state(job.name, scan, refused, log.on_its_way),
        "starts": starts(job, here=True),
        "next_start": start.isoformat() if start else None,
        "not_served": _not_served(job, log.starts),
        "refused": refused,
        "input": shown(plan.input.folder),
        "ready": len(scan.ready),
        "forecast": None if refused else _forecast(job, plan, scan, log),
        "settling": len(scan.settling),
        "held_open": list(scan.held_open[:LISTED]),
        "held": len(scan.held),
        "pending_files": [{"path": path, "reason": reason} for path, reason in scan.pending[:LISTED]],
        "ignored": len(scan.ignored),
        "ignored_names": dict(scan.names),
        "ignored_files": [{"path": path, "reason": reason} for path, reason in scan.ignored[:LISTED]],
        **history,
    }


def _forecast(job: LoadedJob, plan: pipeline.RunPlan, scan: pipeline.inbox.Scan, log: _Log) -> dict[str, Any] | None:
    """What `cloister plan` says of what waits, in short; None where nothing waits, or nothing is known."""
    files = pipeline.stages.waiting(scan, log.met.jobs.get(plan.job, ()))
    known, machines = (
        pipeline.stages.known_costs(plan, log.costs, log.register),
        pipeline.stages.machines_of(plan, log.costs),
    )
    ahead = look_ahead(job.config, files, known, datetime.now(UTC), machines)
    if not files or ahead.outlook is None:
        return None
    return {
        "files": len(files),
        "documents": round(ahead.outlook.documents),
        "seconds": round(ahead.outlook.seconds, 1),
        "documents_tonight": round(ahead.outlook.tonight),
        "all_tonight": ahead.all_tonight,
        "by_job": known[1].of_job if known else None,
        "until": ahead.until,
        "done_at": ahead.done_at,
    }


def _state(job: str, scan: pipeline.inbox.Scan, refused: str | None, on_its_way: pipeline.outbox.Running | None) -> str:
    """The state of a job in one word: ready is one that has files and may take them."""
    if on_its_way and on_its_way.job == job:
        return "running"
    if refused:
        return "refused"
    return "ready" if scan.ready else "waiting" if scan.settling or scan.held else "idle"


def _history(status: pipeline.proof.JobStatus | None, on_its_way: pipeline.outbox.Running | None) -> dict[str, Any]:
    """The last run and the one before it, of those that are not on their way."""
    if status is None:
        return {"last_run": None, "run_before": None, "report": None}
    runs = [each for each in (status, status.before) if each and each.last_run != (on_its_way and on_its_way.run)]
    last, before, *_ = [*map(_run, runs), None, None]
    isolation = status.isolation
    return {
        "last_run": last,
        "run_before": before,
        "totals": {state.value: status.totals[state.value] for state in pipeline.states.OF_RUNS},
        "decisions": dict(status.decisions),
        "isolation": asdict(isolation) | {"told": isolation.told} if isolation else None,
        "report": status.report,
    }


def _run(status: pipeline.proof.JobStatus) -> dict[str, Any]:
    began = {"run": status.last_run, "state": status.last_state, "started_at": status.started_at}
    ended = {"finished_at": status.finished_at, "seen": status.seen, "counts": dict(status.counts)}
    return {**began, **ended, "reason": status.reason}


def _lines(told: dict[str, Any]) -> Iterator[str]:
    yield f"workspace  {told['workspace']}"
    yield f"log        {told['log']['origin']}, {counted(told['log']['size'], 'entry')}"
    yield f"run        {_process(told['run'], 'none at the moment')}{_far(told['running'])}"
    for name, each in sorted((told["running"] or {}).get("workers", {}).items()):
        yield f"worker     {one_line(name)} {each['state']} since {moment(each['since'])}"
    yield f"serve      {_process(told['serve'], 'does not run')}"
    if not told["jobs"]:
        yield "jobs       none; begin one: cloister new JOB; or copy an example: cloister init . --example NAME"
    for job in told["jobs"]:
        yield f"\n{job['job']}"
        if "problems" in job:
            yield "  is not run, because of\n    " + job["problems"].replace("\n", "\n    ")
        else:
            yield from _job_lines(job, is_served=told["serve"] is not None)
        yield from _history_lines(job)
    for file in told["other_files"]:
        yield f"\n{file} is no job: job files end in .yaml"
    for job in told["without_file"]:
        yield f"\n{job['job']} (its file is no longer in jobs/)"
        yield from _history_lines(job)


def _job_lines(job: dict[str, Any], *, is_served: bool) -> Iterator[str]:
    yield f"  starts   {job['starts']}{'' if is_served else ', if `cloister serve` runs'}"
    if job["refused"]:
        yield "  refused  " + job["refused"].replace("\n", "\n           ")
    yield f"  waiting  {_waiting(job)}"
    if job["forecast"]:
        yield f"  forecast {_foreseen(job['forecast'])}"
    if pending := job["settling"] + job["held"]:
        yield f"  pending  {first_few(_files(job['pending_files']), pending)}"
    if job["ignored"]:
        yield f"  ignored  {first_few(_files(job['ignored_files']), job['ignored'], job['ignored_names'])}"


def _files(told: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(each["path"], each["reason"]) for each in told]


def _waiting(job: dict[str, Any]) -> str:
    held_open = len(job["held_open"])
    settling = f", {job['settling'] - held_open:,} still changing" if job["settling"] > held_open else ""
    settling += f", {held_open:,} held open by a writer" if held_open else ""
    refused = "; none is taken while the job is refused" if job["refused"] and job["ready"] else ""
    return f"{counted(job['ready'], 'file')} in {job['input']}{settling}{refused}"


def _foreseen(told: dict[str, Any]) -> str:
    """Say when the documents that wait will be done, and how many by the end of the window."""
    done = f"all done about {moment(told['done_at'])}" if told["done_at"] else "what waits is never all done"
    done += f", by the pace of its model in job {told['by_job']}" if told["by_job"] else ""
    if told["all_tonight"] or told["until"] is None:
        return done
    tonight = f"{told['documents_tonight']:,} of {told['documents']:,} by {moment(told['until'])}"
    return f"{tonight}; {done}; see cloister plan"


def _history_lines(job: dict[str, Any]) -> Iterator[str]:
    last, before = job["last_run"], job["run_before"]
    if last is None:
        yield "  last     never ran" if "totals" not in job else "  last     this run is its first"
    else:
        yield f"  last     {_ended(last)}"
    if before and last["state"] == "refused":
        yield f"  before   {_ended(before)}"
    if "totals" in job:
        none = "none committed yet" if job.get("state") == "running" else "no documents"
        yield f"  totals   {counts_line(job['totals']) if any(job['totals'].values()) else none}"
    if job.get("decisions"):
        yield f"  decided  {counts_line(job['decisions'])}, by people"
    if job.get("isolation") and job["isolation"]["told"]:
        yield f"  parsers  isolation {job['isolation']['told']} in the last run that read documents"
    if job["report"]:
        yield f"  report   {job['report']}"


def _ended(run: dict[str, Any]) -> str:
    if run["state"] == "refused":
        return f"refused {moment(run['finished_at'])}: {one_line(run['reason'])}"
    if run["state"] == "unfinished":
        done = counts_line(run["counts"]) if any(run["counts"].values()) else "nothing committed"
        return f"begun {moment(run['started_at'])}, not ended: {done} so far; the next run goes on"
    how = {"stopped": "stopped by a full disk", "window_closed": "window closed"}.get(run["state"], run["state"])
    return f"{how} {moment(run['finished_at'] or run['started_at'])}: {counts_line(run['counts'])}"


def _far(running: dict[str, Any] | None) -> str:
    """The run on its way, since when, and how far it is; this is printed after its process."""
    if running is None:
        return ""
    far = "its documents are not counted yet"
    if running["total"] is not None:
        done = f": {counts_line(running['counts'])}" if running["done"] else ""
        far = f"{running['done']:,} of {counted(running['total'], 'document')}{done}"
    if running["inside"]:
        far += f"; {inside_in_words(running['inside'])}"
    if running["seconds_left"]:
        far += f"; {_pace(running['rate'])}, about {duration(running['seconds_left'])} left"
    return f": {running['job']} since {moment(running['since'])}, {far}"


def _pace(rate: float) -> str:
    """A rate in documents of a unit of time in which there are several."""
    per = next(((n, unit) for n, unit in ((1, "second"), (60, "minute")) if rate * n >= 1), (3600, "hour"))
    return f"{rate * per[0]:,.1f} a {per[1]}"


def _process(pid: int | None, none: str) -> str:
    if pid is None:
        return none
    return f"process {pid}" if pid else "a process of another container"
