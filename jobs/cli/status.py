"""`cloister status`: the jobs of a workspace, what waits for them and what became of their last run."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from jobs.cli.describe import first_few, next_start_of, starts
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import LISTED, counted, counts_line, print_json, say
from jobs.errors import ConfigError
from jobs.load import shown
from jobs.lock import SERVICE_LOCK, holder
from jobs.workspace import Workspace, load_job_of, open_workspace

if TYPE_CHECKING:
    from pathlib import Path

    import pipeline


def status(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show each job: next start, waiting files, last run, totals.

    Also the size of the audit log, and which processes run or serve the workspace.
    """
    import audit
    import pipeline
    from jobs.plan import make_site

    place = open_workspace(workspace)
    site = make_site(place)
    known = {each.job: each for each in pipeline.status(site)}
    jobs = [_job(place, path, known) for path in place.job_files()]
    gone = [{"job": name, **_history(each)} for name, each in known.items() if name not in {job["job"] for job in jobs}]
    told = {
        "workspace": str(place.root),
        "log": {"origin": site.origin, "size": audit.read_checkpoint(site.audit, site.public_key).size},
        "run": holder(site.audit / "lock"),
        "serve": holder(place.state / SERVICE_LOCK),
        "jobs": jobs,
        "without_file": gone,
        "other_files": [shown(path) for path in place.other_files()],
    }
    if as_json:
        print_json(told)
    else:
        _print(told)


def _job(workspace: Workspace, path: "Path", known: "dict[str, pipeline.JobStatus]") -> dict[str, Any]:
    import pipeline
    from jobs.plan import make_plan

    try:
        job = load_job_of(workspace, path)
        plan = make_plan(workspace, job)
        scan = pipeline.scan(plan.input)
    except (ConfigError, OSError) as error:
        return {"job": path.stem, "problems": str(error), **_history(known.get(path.stem))}
    start = next_start_of(job)
    return {
        "job": job.name,
        "starts": starts(job),
        "next_start": start.isoformat() if start else None,
        "input": shown(plan.input.folder),
        "ready": len(scan.ready),
        "settling": len(scan.settling),
        "held": len(scan.held),
        "pending_files": [{"path": path, "reason": reason} for path, reason in scan.pending[:LISTED]],
        "ignored": len(scan.ignored),
        "ignored_files": [{"path": path, "reason": reason} for path, reason in scan.ignored[:LISTED]],
        **_history(known.get(job.name)),
    }


def _history(status: "pipeline.JobStatus | None") -> dict[str, Any]:
    if status is None:
        return {"last_run": None}
    import pipeline

    last = {"run": status.last_run, "state": status.last_state, "started_at": status.started_at}
    return {
        "last_run": {**last, "finished_at": status.finished_at, "seen": status.seen, "counts": dict(status.counts)},
        "totals": {state.value: status.totals[state.value] for state in pipeline.State},
        "isolation": _isolation(status.isolation),
    }


def _isolation(isolation: "pipeline.Isolation | None") -> dict[str, Any] | None:
    return asdict(isolation) | {"told": isolation.told} if isolation else None


def _print(told: dict[str, Any]) -> None:
    say(f"workspace  {told['workspace']}")
    say(f"log        {told['log']['origin']}, {counted(told['log']['size'], 'entry')}")
    say(f"run        {_process(told['run'], 'none at the moment')}")
    say(f"serve      {_process(told['serve'], 'does not run')}")
    if not told["jobs"]:
        say("jobs       none; write jobs/NAME.yaml, or copy an example: cloister init . --example NAME")
    for job in told["jobs"]:
        say(f"\n{job['job']}")
        if "problems" in job:
            say("  is not run, because of")
            say("    " + job["problems"].replace("\n", "\n    "))
        else:
            say(f"  starts   {job['starts']}{'' if told['serve'] is not None else ', if `cloister serve` runs'}")
            say(f"  waiting  {_waiting(job)}")
            if job["settling"] + job["held"]:
                files = [(each["path"], each["reason"]) for each in job["pending_files"]]
                say(f"  pending  {first_few(files, job['settling'] + job['held'])}")
            if job["ignored"]:
                files = [(each["path"], each["reason"]) for each in job["ignored_files"]]
                say(f"  ignored  {first_few(files, job['ignored'])}")
        _print_history(job)
    for file in told["other_files"]:
        say(f"\n{file} is no job: job files end in .yaml")
    for job in told["without_file"]:
        say(f"\n{job['job']} (its file is no longer in jobs/)")
        _print_history(job)


def _print_history(job: dict[str, Any]) -> None:
    last = job["last_run"]
    if last is None:
        say("  last     never ran")
        return
    when = last["finished_at"] or last["started_at"]
    say(f"  last     {last['state']} {when}: {counts_line(last['counts'])}")
    say(f"  totals   {counts_line(job['totals'])}")
    if job["isolation"] and job["isolation"]["told"]:
        say(f"  parsers  isolation {job['isolation']['told']} in the last run that read documents")


def _waiting(job: dict[str, Any]) -> str:
    settling = f", {job['settling']:,} still changing" if job["settling"] else ""
    return f"{counted(job['ready'], 'file')} in {job['input']}{settling}"


def _process(pid: int | None, none: str) -> str:
    if pid is None:
        return none
    return f"process {pid}" if pid else "a process of another container"
