"""`cloister check`: everything that is wrong with jobs, before a run finds out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

import typer

import pipeline
from jobs.cli.describe import first_few, starts
from jobs.cli.options import JsonOption, SomeJobsArgument, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.load import LoadedJob, shown
from jobs.config.plan import check_places, make_plan, make_site
from jobs.config.workspace import Workspace, find_job, load_job_of, open_workspace, readable_jobs
from jobs.errors import ConfigError, ExitCode, Problem, worst
from jobs.nights.ahead import next_start_of, window_end, zone_of
from jobs.nights.watch import Beside
from jobs.trust.doctor import hindrances, unseen
from jobs.visible import counted, one_line


@dataclass(frozen=True)
class Checked:
    """One job: what it would do, or what is wrong with it."""

    name: str
    code: ExitCode
    problems: tuple[Problem, ...] = ()
    refusal: str | None = None
    plan: dict[str, Any] | None = None


def check(jobs: SomeJobsArgument = None, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Check jobs without running them, all of the workspace if none is named: YAML, folders, model file, its sha256
    and what it is for, and whether it may be used.

    Also what would stop any run this evening: rights on keys and folders, the log, room on the disk, the clock, what
    CLOISTER_ISA, CLOISTER_THREADS, limits.isolation and input.ocr ask for. Where a job demands quality, the log is read
    for whether that was measured, and not held. Tells all problems at once, or what the job would do. Exit 2 for a
    mistake in the job, or on the site; 3 for a refused model.
    """
    place = open_workspace(workspace)
    names = jobs or [shown(path) for path in (*place.job_files(), *place.misnamed_files())]
    if not names:
        found, remedy = (
            f"no job in {shown(place.jobs)}",
            "begin one: cloister new JOB; or copy an example: cloister init DIR --example NAME",
        )
        raise ConfigError(Problem("cloister check", found, "jobs/NAME.yaml", remedy))
    known = pipeline.read_admissions(make_site(place))
    beside = Beside(place, readable_jobs(place), [path.stem for path in place.job_files()])
    checked, stops = [_check(place, name, known, beside) for name in names], list(hindrances(place))
    code = worst([each.code for each in checked] + [ExitCode.BAD_CONFIG] * bool(stops))
    if as_json:
        site = [{"sentence": each.evidence, "remedy": each.remedy} for each in stops]
        print_json({"jobs": checked, "site": site, "not_seen": unseen(place), "exit_code": int(code)})
    else:
        for stop in stops:
            say(f"no job runs: {one_line(stop.evidence)}\n    remedy:   {stop.remedy}")
        for each in checked:
            _print(each, "in order in itself; it does not run, as is said above" if stops else "in order")
        if not_seen := unseen(place):
            say(f"not seen: {not_seen}")
    raise typer.Exit(int(code))


def _check(workspace: Workspace, name: str, known: pipeline.Admissions, beside: Beside) -> Checked:
    try:
        job = load_job_of(workspace, find_job(workspace, name))
        beside.check(job)
        plan = make_plan(workspace, job)
        check_places(plan, pipeline.scan(plan.input).ready)
        sha256 = pipeline.check_model(plan)
        plan = pipeline.with_head(plan, sha256)
        pipeline.check_admitted(plan.site, replace(plan.model, sha256=sha256), known)
        pipeline.examine_model(plan)
        quality = pipeline.check_quality(plan, sha256)
        facts = pipeline.inspect_model(plan.model.path)
    except ConfigError as error:
        return Checked(name, ExitCode.BAD_CONFIG, problems=error.problems)
    except PermissionError as error:
        return Checked(name, ExitCode.BAD_CONFIG, problems=(Problem(str(error.filename), str(error.strerror)),))
    except pipeline.ModelRefusedError as error:
        return Checked(name, ExitCode.MODEL_REFUSED, refusal=str(error))
    told = _told(job, plan, sha256, facts)
    told |= {"quality": quality} if quality else {}
    return Checked(job.name, ExitCode.DONE, plan=told | _admitted(plan, sha256, known))


def _admitted(plan: pipeline.RunPlan, sha256: str, known: pipeline.Admissions) -> dict[str, str]:
    """The decisions about the model and its head; empty where nobody decided anything."""
    of = [sha256, *([plan.model.head.sha256] if plan.model.head else [])]
    decided = [decision.in_words() if (decision := known.last.get(each or "")) else "not admitted" for each in of]
    if not any(each in known.last for each in of):
        return {}
    return {"allowed": decided[0] + (f"; its head: {decided[1]}" if len(decided) > 1 else "")}


def _unseen(plan: pipeline.RunPlan, scan: pipeline.Scan) -> dict[str, str]:
    """What is said where it cannot be seen whether somebody still writes to files."""
    after = f"taken after {plan.input.settle_seconds:g} s without a change, whoever still writes"
    if kind := pipeline.shared_with(plan.input.folder):
        return {"writers": f"cannot be seen: {kind} does not tell of other machines; files are {after} to them"}
    if scan.unseen:
        files = counted(scan.unseen, "file")
        return {"writers": f"cannot be seen: {files} of other users; {after} to them"}
    return {}


def _told(job: LoadedJob, plan: pipeline.RunPlan, sha256: str, facts: dict[str, Any]) -> dict[str, Any]:
    scan = pipeline.scan(plan.input)
    settling = f" and {scan.changing:,} still settling" if scan.changing else ""
    settling += f", {len(scan.held_open):,} held open by a writer" if scan.held_open else ""
    return {
        "file": shown(job.path),
        "input": f"{shown(plan.input.folder)} ({', '.join(plan.input.include)}), "
        f"{counted(len(scan.ready), 'file')} ready{settling}, "
        + {"archive": "archived afterwards", "keep": "kept afterwards"}[plan.input.afterwards],
        **_unseen(plan, scan),
        **({"held": first_few(scan.held, len(scan.held))} if scan.held else {}),
        **({"ignored": first_few(scan.ignored, len(scan.ignored), scan.names)} if scan.ignored else {}),
        "ocr": _reads_pictures(plan),
        "serve": f"starts it {starts(job)}" if job.config.schedule is None else f"starts it by {starts(job)}",
        **_window(job),
        "model": f"{plan.model.name}, {facts['architecture']}",
        "sha256": sha256 + ("" if plan.model.sha256 else " (not pinned: write it into the job as model.sha256)"),
        **_learned(plan, job),
        **_own_head(plan, facts),
        **_writes(plan, facts),
        "task": one_line(plan.task.in_words()),
        "output": f"{shown(plan.outbox)} ({', '.join(plan.formats)})",
    }


def _window(job: LoadedJob) -> dict[str, str]:
    """Until when the next run may compute; nothing for a job without a window."""
    config, start = job.config, next_start_of(job)
    end = window_end(config, start or datetime.now(UTC))
    if config.window is None or end is None:
        return {}
    when = "from the next start" if start else "if it began now"
    said = f"until {config.window.until} ({zone_of(config.schedule)[1]})"
    return {"window": f"{said}; {when}, until {end:%a %Y-%m-%d %H:%M %Z}"}


def _learned(plan: pipeline.RunPlan, job: LoadedJob) -> dict[str, str]:
    """The learned head that answers; nothing where there is none."""
    if plan.model.head is None:
        return {}
    pinned = job.config.model.head is not None and job.config.model.head.sha256
    unpinned = "" if pinned else " (not pinned: write it into the job as model.head.sha256)"
    promised = one_line("; ".join(pipeline.promises_of(plan)))
    return {
        "head": f"{plan.model.head.name}, sha256 {plan.model.head.sha256}{unpinned}",
        **({"accept": promised} if promised else {}),
    }


def _own_head(plan: pipeline.RunPlan, facts: dict[str, Any]) -> dict[str, str]:
    """The outputs of the model's own head, if it answers."""
    labels = facts["metadata"].get(f"{facts['architecture']}.classifier.output_labels")
    return {"labels": one_line(str(labels))} if labels and plan.model.head is None else {}


def _writes(plan: pipeline.RunPlan, facts: dict[str, Any]) -> dict[str, str]:
    """How a model that writes text is used; nothing for one that embeds."""
    writing = pipeline.writing_of(plan)
    if writing is None:
        return {}
    context = min(writing.context, facts["context"] or writing.context)
    memory = f", {writing.cache_mib:,} MiB for them" if writing.cache_mib else ""
    answers = f"answers of at most {counted(min(writing.max_tokens, context // 4), 'token')}"
    kept = f"keys and values as {writing.kv}{memory}"
    chat = {"chat": f"template: {facts['chat_template']}"} if facts["chat_template"] else {}
    return {"writes": f"{answers}; {counted(context, 'token')} at a time with what is read; {kept}"} | chat


def _reads_pictures(plan: pipeline.RunPlan) -> str:
    if not plan.input.ocr.enabled:
        return "off: pictures of text fail as needs_ocr"
    found = pipeline.find_tesseract(plan.input.ocr.languages)
    if isinstance(found, str):
        return f"{found}: pictures of text fail as needs_ocr"
    return found.name if find_spec("PIL") else f"{found.name}, for PDF only: Pillow is not installed (cloister[ocr])"


def _print(checked: Checked, in_order: str) -> None:
    for problem in checked.problems:
        say(str(problem))
    if checked.refusal:
        say(f"{checked.name}: model refused: {checked.refusal}")
    if checked.plan:
        say(f"{checked.name}: {in_order}")
        for key, value in checked.plan.items():
            say(f"  {key:<7} {value}")
