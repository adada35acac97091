"""`cloister check`: everything that is wrong with jobs, before a run finds out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any

import pipeline
from jobs.cli.options import SomeJobs
from jobs.cli.printing import Answer, At, duration, first_few, size_of, starts
from jobs.config.load import LoadedJob, shown
from jobs.config.plan import check_places, make_plan, make_site
from jobs.config.workspace import Workspace, find_job, load_job_of, readable_jobs
from jobs.errors import ConfigError, ExitCode, Problem, worst
from jobs.nights.ahead import Ahead, Remedy, look_ahead, next_start_of, remedies, window_end, zone_of
from jobs.nights.cluster import Found, Seen, ask, see
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


def check(at: At, jobs: SomeJobs = None) -> Answer:
    """Check jobs without running them, all of the workspace if none is named: YAML, folders, model file, its sha256
    and what it is for, and whether it may be used.

    Also what would stop any run this evening: rights on keys and folders, the log, room on the disk, the clock, what
    CLOISTER_ISA, CLOISTER_THREADS, limits.isolation and input.ocr ask for. Where a job demands quality, the log is read
    for whether that was measured, and not held. Tells all problems at once, or what the job would do. Exit 2 for a
    mistake in the job, or on the site; 3 for a refused model.
    """
    place = at.workspace
    names = jobs or all_jobs(place, "cloister check")
    known = pipeline.records.read_admissions(at.site)
    beside = Beside(place, readable_jobs(place), [path.stem for path in place.job_files()])
    checked, stops = [_checked(place, name, known, beside) for name in names], list(hindrances(place))
    code = worst([each.code for each in checked] + [ExitCode.BAD_CONFIG] * bool(stops))
    site = [{"sentence": each.evidence, "remedy": each.remedy} for each in stops]
    lines = [f"no job runs: {one_line(stop.evidence)}\n    remedy:   {stop.remedy}" for stop in stops]
    lines += _lines(checked, "in order in itself; it does not run, as is said above" if stops else "in order")
    if not_seen := unseen(place):
        lines.append(f"not seen: {not_seen}")
    return Answer({"jobs": checked, "site": site, "not_seen": not_seen, "exit_code": code}, lines, code)


def all_jobs(place: Workspace, command: str) -> list[str]:
    """The jobs of the workspace, for a command to which none was named. ConfigError if there is none."""
    names = [shown(path) for path in (*place.job_files(), *place.misnamed_files())]
    if not names:
        remedy = "begin one: cloister new JOB; or copy an example: cloister init DIR --example NAME"
        raise ConfigError(Problem(command, f"no job in {shown(place.jobs)}", "jobs/NAME.yaml", remedy))
    return names


def _checked(workspace: Workspace, name: str, known: pipeline.records.Admissions, beside: Beside) -> Checked:
    try:
        job = load_job_of(workspace, find_job(workspace, name))
        beside.check(job)
        plan = make_plan(workspace, job)
        check_places(plan, pipeline.scan(plan.input).ready)
        sha256 = pipeline.answer.check_model(plan)
        plan = pipeline.answer.with_head(plan, sha256)
        pipeline.records.check_admitted(plan.site, replace(plan.model, sha256=sha256), known)
        pipeline.answer.examine_model(plan)
        quality = pipeline.quality.check_quality(plan, sha256)
        facts = pipeline.answer.inspect_model(plan.model.path)
    except ConfigError as error:
        return Checked(name, ExitCode.BAD_CONFIG, problems=error.problems)
    except PermissionError as error:
        return Checked(name, ExitCode.BAD_CONFIG, problems=(Problem(str(error.filename), str(error.strerror)),))
    except pipeline.ModelRefusedError as error:
        return Checked(name, ExitCode.MODEL_REFUSED, refusal=str(error))
    told = _told(job, plan, sha256, facts)
    told |= {"quality": quality} if quality else {}
    return Checked(job.name, ExitCode.DONE, plan=told | _admitted(plan, sha256, known))


def _told(job: LoadedJob, plan: pipeline.RunPlan, sha256: str, facts: dict[str, Any]) -> dict[str, Any]:
    scan = pipeline.scan(plan.input)
    settling = f" and {scan.changing:,} still settling" if scan.changing else ""
    settling += f", {len(scan.held_open):,} held open by a writer" if scan.held_open else ""
    afterwards = {"archive": "archived afterwards", "keep": "kept afterwards"}[plan.input.afterwards]
    return {
        "file": shown(job.path),
        "input": f"{shown(plan.input.folder)} ({', '.join(plan.input.include)}), "
        f"{counted(len(scan.ready), 'file')} ready{settling}, {afterwards}",
        **_unseen(plan, scan),
        **({"held": first_few(scan.held, len(scan.held))} if scan.held else {}),
        **({"ignored": first_few(scan.ignored, len(scan.ignored), scan.names)} if scan.ignored else {}),
        "ocr": _reads_pictures(plan),
        "serve": f"starts it {'' if job.config.schedule is None else 'by '}{starts(job)}",
        **_window(job),
        "model": f"{plan.model.name}, {facts['architecture']}",
        "sha256": sha256 + ("" if plan.model.sha256 else " (not pinned: write it into the job as model.sha256)"),
        **_head(plan, job, facts),
        **_writes(plan, facts),
        "task": one_line(plan.task.in_words()),
        "output": f"{shown(plan.outbox)} ({', '.join(plan.formats)})",
    }


def _unseen(plan: pipeline.RunPlan, scan: pipeline.inbox.Scan) -> dict[str, str]:
    """What is said where it cannot be seen whether somebody still writes to files."""
    after = f"taken after {plan.input.settle_seconds:g} s without a change, whoever still writes"
    if kind := pipeline.paths.shared_with(plan.input.folder):
        return {"writers": f"cannot be seen: {kind} does not tell of other machines; files are {after} to them"}
    if scan.unseen:
        files = counted(scan.unseen, "file")
        return {"writers": f"cannot be seen: {files} of other users; {after} to them"}
    return {}


def _reads_pictures(plan: pipeline.RunPlan) -> str:
    if not plan.input.ocr.enabled:
        return "off: pictures of text fail as needs_ocr"
    found = pipeline.parse.find_tesseract(plan.input.ocr.languages)
    if isinstance(found, str):
        return f"{found}: pictures of text fail as needs_ocr"
    return found.name if find_spec("PIL") else f"{found.name}, for PDF only: Pillow is not installed (cloister[ocr])"


def _window(job: LoadedJob) -> dict[str, str]:
    """Until when the next run may compute; nothing for a job without a window."""
    config, start = job.config, next_start_of(job)
    end = window_end(config, start or datetime.now(UTC))
    if config.window is None or end is None:
        return {}
    when = "from the next start" if start else "if it began now"
    said = f"until {config.window.until} ({zone_of(config.schedule)[1]})"
    return {"window": f"{said}; {when}, until {end:%a %Y-%m-%d %H:%M %Z}"}


def _head(plan: pipeline.RunPlan, job: LoadedJob, facts: dict[str, Any]) -> dict[str, str]:
    """The learned head that answers; without one the outputs of the model's own head, if it has one."""
    if plan.model.head is None:
        labels = facts["metadata"].get(f"{facts['architecture']}.classifier.output_labels")
        return {"labels": one_line(str(labels))} if labels else {}
    pinned = job.config.model.head is not None and job.config.model.head.sha256
    unpinned = "" if pinned else " (not pinned: write it into the job as model.head.sha256)"
    promised = one_line("; ".join(pipeline.answer.promises_of(plan)))
    told = {"head": f"{plan.model.head.name}, sha256 {plan.model.head.sha256}{unpinned}"}
    return told | ({"accept": promised} if promised else {})


def _writes(plan: pipeline.RunPlan, facts: dict[str, Any]) -> dict[str, str]:
    """How a model that writes text is used; nothing for one that embeds."""
    writing = pipeline.answer.writing_of(plan)
    if writing is None:
        return {}
    context = min(writing.context, facts["context"] or writing.context)
    memory = f", {writing.cache_mib:,} MiB for them" if writing.cache_mib else ""
    answers = f"answers of at most {counted(min(writing.max_tokens, context // 4), 'token')}"
    kept = f"keys and values as {writing.kv}{memory}"
    chat = {"chat": f"template: {facts['chat_template']}"} if facts["chat_template"] else {}
    return {"writes": f"{answers}; {counted(context, 'token')} at a time with what is read; {kept}"} | chat


def _admitted(plan: pipeline.RunPlan, sha256: str, known: pipeline.records.Admissions) -> dict[str, str]:
    """The decisions about the model and its head; empty where nobody decided anything."""
    of = [sha256, *([plan.model.head.sha256] if plan.model.head else [])]
    decided = [decision.in_words() if (decision := known.last.get(each or "")) else "not admitted" for each in of]
    if not any(each in known.last for each in of):
        return {}
    return {"allowed": decided[0] + (f"; its head: {decided[1]}" if len(decided) > 1 else "")}


def _lines(checked: Sequence[Checked], in_order: str) -> Iterator[str]:
    for each in checked:
        yield from map(str, each.problems)
        if each.refusal:
            yield f"{each.name}: model refused: {each.refusal}"
        if each.plan:
            yield f"{each.name}: {in_order}"
            yield from (f"  {key:<7} {value}" for key, value in each.plan.items())


@dataclass(frozen=True)
class Planned:
    """One job: what is ahead of it, or what is wrong with it."""

    job: str
    problems: tuple[Problem, ...] = ()
    ahead: Ahead | None = None
    memory: pipeline.stages.Memory | str | None = None
    ways: Sequence[Remedy] = ()
    held: Sequence[pipeline.records.Held] = ()
    after: str | None = None
    cluster: Seen | None = None
    model: str = ""


def plan(at: At, jobs: SomeJobs = None) -> Answer:
    """Say what waits for jobs, all of the workspace if none is named, and when it will be done.

    By what documents of the same kind took in earlier runs with the same model, which the log has, of this job or else
    of another one: how many will be
    done when the window of the next run ends, when all will be, which file takes longest, the memory that a run takes
    at most, what would finish it tonight, and how good earlier forecasts were. No document is read. Exit 2: a mistake
    in a job.
    """
    place = at.workspace
    names = jobs or all_jobs(place, "cloister plan")
    beside = [shown(path) for path in place.job_files() if not {path.stem, shown(path)} & {*names}]
    others = plan_all(place, [*names, *beside], datetime.now(UTC))
    planned = [(each, _beside(each, others)) for each in others[: len(names)]]
    code = ExitCode.BAD_CONFIG if any(each.problems for each, _ in planned) else ExitCode.DONE
    told = {"jobs": [_planned_json(each, runs) for each, runs in planned], "exit_code": code}
    return Answer(told, _planned_lines(planned), code)


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
    costs, register, met = pipeline.records.AllCosts(), pipeline.records.Register(), pipeline.records.MetFiles(keeping)
    known = {each.job: each.unread for each in pipeline.status(make_site(place), register, costs, met)}
    found = dict[str, Found]()
    for name, (job, run) in loaded.items():
        cluster = _cluster(run, pipeline.stages.machines_of(run, costs), found)
        scan = pipeline.inbox.set_aside(pipeline.scan(run.input), known.get(run.job, {}), run.site.max_document_bytes)
        files = pipeline.stages.waiting(scan, met.jobs.get(run.job, ()))
        its_costs, machines = pipeline.stages.known_costs(run, costs, register), cluster.machines if cluster else 1
        ahead = look_ahead(job.config, files, its_costs, now, machines)
        its = costs.jobs.get(run.job, pipeline.records.JobCosts())
        try:
            memory: pipeline.stages.Memory | str = pipeline.stages.memory_of(run)
            ways = tuple(remedies(run, ahead, its, register))
        except pipeline.ModelRefusedError as error:
            memory, ways = str(error), ()
        planned[name] = Planned(
            job.name,
            (),
            ahead,
            memory,
            ways=ways,
            held=its.held,
            after=job.config.after,
            cluster=cluster,
            model=run.model.name,
        )
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


def _planned_json(one: Planned, beside: Sequence[str]) -> dict[str, Any]:
    ahead = one.ahead
    if ahead is None:
        return {"job": one.job, "problems": one.problems}
    errors, told = pipeline.forecast.median_errors(one.held), ahead.outlook
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


def _forecast(ahead: Ahead, told: pipeline.forecast.Outlook) -> dict[str, Any]:
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
        "blocking": told.blocking and _file(*told.blocking),
        "slowest": told.slowest and _file(*told.slowest),
        "rests_on": {"documents": costs.rows, "runs": len(costs.runs), "threads": threads, "job": costs.of_job},
    }


def _file(file: pipeline.forecast.File, expected: pipeline.forecast.Expected) -> dict[str, Any]:
    takes = {"tokens": round(expected.tokens), "seconds": round(expected.seconds, 1)}
    return {"path": file.path, "size": file.size, **takes}


def _planned_lines(planned: Sequence[tuple[Planned, Sequence[str]]]) -> Iterator[str]:
    for number, (one, beside) in enumerate(planned):
        if number:
            yield ""
        yield from map(str, one.problems)
        if one.ahead is not None:
            yield from _job_lines(one, one.ahead, beside)


def _job_lines(one: Planned, ahead: Ahead, beside: Sequence[str]) -> Iterator[str]:
    yield one.job
    yield f"  waiting   {counted(len(ahead.files), 'file')}, {size_of(ahead.bytes)}"
    until = f", in its window until {ahead.until:%a %Y-%m-%d %H:%M}" if ahead.until else ""
    if one.after:
        yield f"  next run  when a run of {one.after} has finished{until}; what follows is said as if it were now"
    else:
        yield f"  next run  {ahead.start:%a %Y-%m-%d %H:%M %Z}{until}"
    if ahead.outlook is None and ahead.files:
        nothing = "nothing is known yet: the log has no run of this job with this model"
        yield f"  expected  {nothing}, nor of another one. After the first it is"
    elif ahead.outlook is not None and ahead.files:
        yield from _outlook(one, ahead, ahead.outlook)
    yield from _memory(one.memory)
    if one.cluster:
        said = f"; {one_line(one.cluster.problem)}" if one.cluster.problem else ""
        yield f"  cluster   {counted(one.cluster.machines, 'machine')} by {one.cluster.address}{said}"
    yield from (f"  would do  {one_line(way.sentence)}" for way in one.ways)
    if beside:
        said = "fall into that time: they wait for one another, which is not counted"
        yield f"  beside    runs of {', '.join(beside)} {said}"
    if errors := pipeline.forecast.median_errors(one.held):
        of = counted(len(one.held), "forecast")
        yield f"  earlier   {of}: off by {errors[0]:.0%} of the documents and {errors[1]:.0%} of the seconds (median)"


def _outlook(one: Planned, ahead: Ahead, told: pipeline.forecast.Outlook) -> Iterator[str]:
    assert ahead.known is not None
    threads, costs = ahead.known
    rests = f"by {counted(costs.rows, 'document')} with {counted(threads, 'thread')}"
    if costs.of_job is not None:
        rests = f"by the pace of model {one.model} in job {costs.of_job}, {rests}"
    yield f"  expected  {round(told.tokens):,} tokens, {duration(told.ready + told.seconds)}; {rests}"
    if ahead.until and not ahead.all_tonight:
        yield f"  tonight   {round(told.tonight):,} of {counted(round(told.documents), 'document')}"
    done = ahead.done_at
    yield f"  all done  {f'about {done:%a %Y-%m-%d %H:%M}' if done else 'not at all, as it is'}"
    if told.blocking:
        said = "which no window of the job holds: it and what is behind it are not started; lengthen the window"
        yield f"  blocking  {_in_words(*told.blocking)}, {said}"
    elif told.slowest and len(ahead.files) > 1:
        yield f"  slowest   {_in_words(*told.slowest)}"


def _in_words(file: pipeline.forecast.File, expected: pipeline.forecast.Expected) -> str:
    return f"{one_line(file.path)} ({size_of(file.size)}): about {duration(expected.seconds)}"


def _memory(memory: pipeline.stages.Memory | str | None) -> Iterator[str]:
    if isinstance(memory, str):
        yield f"  memory    not known: {one_line(memory)}"
    elif memory:
        cache = "half of what is free" if memory.cache is None else size_of(memory.cache)
        keys = f", keys and values {cache}" if memory.cache != 0 else ""
        told = f"texts {size_of(memory.texts)}{keys}, all parsers {size_of(memory.parsers)}"
        yield f"  memory    at most: model {size_of(memory.model)}, {told}"
