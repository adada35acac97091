"""`cloister status`: the jobs of a workspace, what waits for them and what became of their last run."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import audit
import pipeline
from jobs.cli.describe import duration, first_few, starts
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import LISTED, counts_line, print_json, say
from jobs.config.load import LoadedJob, shown
from jobs.config.plan import check_places, load_and_plan, make_site, refusal_of
from jobs.config.workspace import Workspace, open_workspace
from jobs.errors import ConfigError, ExitCode
from jobs.nights.ahead import look_ahead, next_start_of
from jobs.nights.watch import Beside
from jobs.progress import inside_in_words
from jobs.stop import holder
from jobs.trust.doctor import hindrances
from jobs.trust.needs import Need, needs
from jobs.visible import counted, moment, one_line

if TYPE_CHECKING:
    from pathlib import Path

    import pipeline


_UNSERVED = timedelta(hours=1)
CheckOption = Annotated[
    bool,
    typer.Option("--check", help="Print only what needs a person, one line for each thing; exit 7 if anything does."),
]


def status(check: CheckOption = False, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show each job: next start, waiting files, last run, totals.

    Also the size of the audit log, and which processes run or serve the workspace. With --check, for monitoring: a job
    that is broken or refused, a last run that failed or was cut off, a start that no service made for an hour, a log
    that was not verified for log.verify_days of site.yaml, a disk that is nearly full, and what would stop any run this
    evening, as `cloister check` finds it.
    """
    place = open_workspace(workspace)
    checked = pipeline.LastVerified()
    told = _look(place, checked, thorough=check)
    if check:
        told["site"] = list(hindrances(place))
        _end_check(needs(place, told["jobs"], told["site"], checked), as_json)
    elif as_json:
        print_json(told)
    else:
        _print(told)


def _end_check(found: list[Need], as_json: bool) -> NoReturn:
    """Print what needs a person, and exit with the code that says whether anything does."""
    code = ExitCode.NEEDS_PERSON if found else ExitCode.DONE
    if as_json:
        print_json({"needs": [asdict(each) for each in found], "exit_code": int(code)})
    else:
        for each in found:
            say(f"{each.job or 'site'}: {one_line(each.sentence)}")
    raise typer.Exit(int(code))


def _look(place: Workspace, checked: pipeline.LastVerified, *, thorough: bool) -> dict[str, Any]:
    """All that is shown. `checked` comes to know when the log was verified. `thorough`: model files are read whole, if
    that was not done before, and the log for quality that jobs demand."""
    site = make_site(place)
    register = pipeline.Register()
    loaded = {path: load_and_plan(place, path) for path in place.job_files()}
    plans = [each[1] for each in loaded.values() if isinstance(each, tuple)]
    costs, met = pipeline.AllCosts(), pipeline.MetFiles({each.job: set() for each in plans if each.keeps})
    known = {each.job: each for each in pipeline.status(site, register, checked, costs, met)}
    on_its_way = _running(site)
    for each in known.values():  # a rule or a person may have removed it
        each.report = each.report if each.report and os.access(place.root / each.report, os.R_OK) else None
    serves = holder(place.log)
    log = _Log(known, register, costs, met, on_its_way, pipeline.ServiceNow(site) if serves is None else None, thorough)
    if log.starts:
        log.starts.look()
    beside = Beside(
        place, [each[0] for each in loaded.values() if isinstance(each, tuple)], [path.stem for path in loaded]
    )
    jobs = [_job(path, _fitting(each, beside), log) for path, each in loaded.items()]
    gone = [
        {"job": name, **_history(each, on_its_way)}
        for name, each in known.items()
        if name not in {job["job"] for job in jobs}
    ]
    return {
        "workspace": str(place.root),
        "log": {"origin": site.origin, "size": audit.read_checkpoint(site.audit, site.public_key).size},
        "run": holder(site.audit / "lock"),
        "running": on_its_way.to_json() if on_its_way else None,
        "serve": serves,
        "jobs": jobs,
        "without_file": gone,
        "other_files": [shown(path) for path in place.other_files()],
    }


def _running(site: pipeline.Site) -> pipeline.Running | None:
    """The run that holds the log, if it is one that holds it. Of a process elsewhere the kernel does not say which."""
    pid, told = holder(site.audit / "lock"), pipeline.running(site)
    return told if told and pid is not None and pid in (0, told.pid) else None


def _fitting(
    loaded: tuple[LoadedJob, pipeline.RunPlan] | ConfigError | OSError, beside: Beside
) -> tuple[LoadedJob, pipeline.RunPlan] | ConfigError | OSError:
    """The job and its plan, or why it does not fit those beside it."""
    try:
        if isinstance(loaded, tuple):
            beside.check(loaded[0])
    except ConfigError as error:
        return error
    return loaded


def _not_served(job: LoadedJob, starts: pipeline.ServiceNow | None) -> str | None:
    """The first start that no service made for an hour, and that the log leaves open; None if there is none."""
    if starts is None or job.config.schedule is None or (since := starts.known(job.name).open_from) is None:
        return None
    start = job.config.schedule.next_start(since)
    late = start is not None and datetime.now(UTC) - start > _UNSERVED
    return moment(start) if start and late else None


@dataclass(frozen=True)
class _Log:
    """What the log says of all jobs, and the run that is on its way; `starts`: what it says of their starts, where no
    service works on them."""

    known: dict[str, pipeline.JobStatus]
    register: pipeline.Register
    costs: pipeline.AllCosts
    met: pipeline.MetFiles
    on_its_way: pipeline.Running | None
    starts: pipeline.ServiceNow | None
    thorough: bool


def _job(path: Path, loaded: tuple[LoadedJob, pipeline.RunPlan] | ConfigError | OSError, log: _Log) -> dict[str, Any]:
    history = _history(log.known.get(path.stem), log.on_its_way)
    try:
        if not isinstance(loaded, tuple):
            raise loaded
        job, plan = loaded
        before = log.known[path.stem].unread if path.stem in log.known else {}
        scan = pipeline.set_aside(pipeline.scan(plan.input), before, plan.site.max_document_bytes)
        if plan.site.root.stat().st_uid == os.geteuid():  # others would not run it
            check_places(plan, scan.ready)
    except (ConfigError, OSError) as error:
        return {"job": path.stem, "state": "broken", "problems": str(error), **history}
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


def _forecast(job: LoadedJob, plan: pipeline.RunPlan, scan: pipeline.Scan, log: _Log) -> dict[str, Any] | None:
    """What `cloister plan` says of what waits, in short; None where nothing waits, or nothing is known."""
    files = pipeline.waiting(scan, log.met.jobs.get(plan.job, ()))
    known, machines = pipeline.known_costs(plan, log.costs, log.register), pipeline.machines_of(plan, log.costs)
    ahead = look_ahead(job.config, files, known, datetime.now(UTC), machines)
    if not files or ahead.outlook is None:
        return None
    told = {
        "files": len(files),
        "documents": round(ahead.outlook.documents),
        "seconds": round(ahead.outlook.seconds, 1),
    }
    tonight = {"documents_tonight": round(ahead.outlook.tonight), "all_tonight": ahead.all_tonight}
    by = {"by_job": known[1].of_job if known else None}
    return {**told, **tonight, **by, "until": ahead.until, "done_at": ahead.done_at}


def _state(job: str, scan: pipeline.Scan, refused: str | None, on_its_way: pipeline.Running | None) -> str:
    """The state of a job in one word: ready is one that has files and may take them."""
    if on_its_way and on_its_way.job == job:
        return "running"
    if refused:
        return "refused"
    return "ready" if scan.ready else "waiting" if scan.settling or scan.held else "idle"


def _history(status: pipeline.JobStatus | None, on_its_way: pipeline.Running | None) -> dict[str, Any]:
    """The last run and the one before it, of those that are not on their way."""
    if status is None:
        return {"last_run": None, "run_before": None, "report": None}

    runs = [each for each in (status, status.before) if each and each.last_run != (on_its_way and on_its_way.run)]
    last, before, *_ = [*map(_run, runs), None, None]
    totals = {state.value: status.totals[state.value] for state in pipeline.OF_RUNS}
    return {
        "last_run": last,
        "run_before": before,
        "totals": totals,
        "decisions": dict(status.decisions),
        "isolation": _isolation(status.isolation),
        "report": status.report,
    }


def _run(status: pipeline.JobStatus) -> dict[str, Any]:
    began = {"run": status.last_run, "state": status.last_state, "started_at": status.started_at}
    ended = {"finished_at": status.finished_at, "seen": status.seen, "counts": dict(status.counts)}
    return {**began, **ended, "reason": status.reason}


def _isolation(isolation: pipeline.Isolation | None) -> dict[str, Any] | None:
    return asdict(isolation) | {"told": isolation.told} if isolation else None


def _print(told: dict[str, Any]) -> None:
    say(f"workspace  {told['workspace']}")
    say(f"log        {told['log']['origin']}, {counted(told['log']['size'], 'entry')}")
    say(f"run        {_process(told['run'], 'none at the moment')}{_far(told['running'])}")
    for name, each in sorted((told["running"] or {}).get("workers", {}).items()):
        say(f"worker     {one_line(name)} {each['state']} since {moment(each['since'])}")
    say(f"serve      {_process(told['serve'], 'does not run')}")
    if not told["jobs"]:
        say("jobs       none; begin one: cloister new JOB; or copy an example: cloister init . --example NAME")
    for job in told["jobs"]:
        say(f"\n{job['job']}")
        if "problems" in job:
            say("  is not run, because of")
            say("    " + job["problems"].replace("\n", "\n    "))
        else:
            say(f"  starts   {job['starts']}{'' if told['serve'] is not None else ', if `cloister serve` runs'}")
            if job["refused"]:
                say("  refused  " + job["refused"].replace("\n", "\n           "))
            say(f"  waiting  {_waiting(job)}")
            if job["forecast"]:
                say(f"  forecast {_foreseen(job['forecast'])}")
            if job["settling"] + job["held"]:
                files = [(each["path"], each["reason"]) for each in job["pending_files"]]
                say(f"  pending  {first_few(files, job['settling'] + job['held'])}")
            if job["ignored"]:
                files = [(each["path"], each["reason"]) for each in job["ignored_files"]]
                say(f"  ignored  {first_few(files, job['ignored'], job['ignored_names'])}")
        _print_history(job)
    for file in told["other_files"]:
        say(f"\n{file} is no job: job files end in .yaml")
    for job in told["without_file"]:
        say(f"\n{job['job']} (its file is no longer in jobs/)")
        _print_history(job)


def _foreseen(told: dict[str, Any]) -> str:
    """Say when the documents that wait will be done, and how many by the end of the window."""
    done = f"all done about {moment(told['done_at'])}" if told["done_at"] else "what waits is never all done"
    done += f", by the pace of its model in job {told['by_job']}" if told["by_job"] else ""
    if told["all_tonight"] or told["until"] is None:
        return done
    return (
        f"{told['documents_tonight']:,} of {told['documents']:,} by {moment(told['until'])}; {done}; see cloister plan"
    )


def _print_history(job: dict[str, Any]) -> None:
    last, before = job["last_run"], job["run_before"]
    if last is None:
        say("  last     never ran" if "totals" not in job else "  last     this run is its first")
    else:
        say(f"  last     {_ended(last)}")
    if before and last["state"] == "refused":
        say(f"  before   {_ended(before)}")
    if "totals" in job:
        none = "none committed yet" if job.get("state") == "running" else None
        say(f"  totals   {counts_line(job['totals']) if any(job['totals'].values()) else none or 'no documents'}")
    if job.get("decisions"):
        say(f"  decided  {counts_line(job['decisions'])}, by people")
    if job.get("isolation") and job["isolation"]["told"]:
        say(f"  parsers  isolation {job['isolation']['told']} in the last run that read documents")
    if job["report"]:
        say(f"  report   {job['report']}")


def _ended(run: dict[str, Any]) -> str:
    """How and when a run ended, and what came of it."""
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


def _waiting(job: dict[str, Any]) -> str:
    held_open = len(job["held_open"])
    settling = f", {job['settling'] - held_open:,} still changing" if job["settling"] > held_open else ""
    settling += f", {held_open:,} held open by a writer" if held_open else ""
    refused = "; none is taken while the job is refused" if job["refused"] and job["ready"] else ""
    return f"{counted(job['ready'], 'file')} in {job['input']}{settling}{refused}"


def _process(pid: int | None, none: str) -> str:
    if pid is None:
        return none
    return f"process {pid}" if pid else "a process of another container"
