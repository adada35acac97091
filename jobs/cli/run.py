"""`cloister run`: one run of each job, one after another."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, TypeAlias

import audit
import pipeline
from jobs.cli.options import Jobs, Wait, option
from jobs.cli.printing import Answer, At, Table, listed, of_names, pace_of
from jobs.config.cluster import cluster_of
from jobs.config.load import LoadedJob, shown
from jobs.config.plan import make_plan
from jobs.config.workspace import Workspace, find_job, load_job_of, readable_jobs
from jobs.errors import ConfigError, Ending, ExitCode, Problem, ending_of, worst
from jobs.nights.ahead import with_window
from jobs.nights.calling import Calling
from jobs.nights.follow import Follower, service_of
from jobs.nights.watch import Beside
from jobs.progress import watcher_for
from jobs.stop import Stop
from jobs.visible import counted, one_line, visible

_FAILED_LISTED = 20
_LOOK_SECONDS = 0.25  # between two looks whether the workspace is free
_ENDS_ALL = {ExitCode.AUDIT_FAILED, ExitCode.WORKSPACE_HELD, ExitCode.INTERRUPTED}
_FOLLOWED = "The run is followed no longer; the service goes on."
Plans: TypeAlias = "list[tuple[LoadedJob, pipeline.RunPlan]]"


@dataclass
class Night:
    """The reports and endings of several runs."""

    reports: list[tuple[LoadedJob, pipeline.RunReport]] = field(default_factory=list)
    refusals: list[Ending] = field(default_factory=list)
    interrupted: bool = False

    @property
    def code(self) -> ExitCode:
        """The exit code of all of them."""
        codes = [ending.code for ending in self.refusals]
        codes += [ExitCode.DOCUMENTS_FAILED for _, report in self.reports if report.counts["failed"]]
        codes += [ExitCode.WINDOW_CLOSED for _, report in self.reports if report.window_closed]
        return worst([*codes, ExitCode.INTERRUPTED] if self.interrupted else codes)

    @property
    def is_over(self) -> bool:
        """Whether no other job is to run any more."""
        return self.interrupted or any(ending.code in _ENDS_ALL for ending in self.refusals)

    def add(self, other: Night) -> None:
        """Put what came of other runs behind these."""
        self.reports += other.reports
        self.refusals += other.refusals
        self.interrupted = self.interrupted or other.interrupted

    def refuse(self, ending: Ending) -> None:
        """Put the ending behind the others, and tell it."""
        self.refusals.append(ending)
        _say(ending.message)


def _say(line: str) -> None:
    print(visible(line), file=sys.stderr)


def run(
    at: At,
    jobs: Jobs,
    wait: Wait = 0,
    cluster: Annotated[
        str | None,
        option(
            "--cluster", "Have the workers at this scheduler read and answer; else those that site.yaml names, if any.",
            "ADDRESS",
        ),
    ] = None,
) -> Answer:  # fmt: skip
    """Run jobs once, one after another; a mistake in one of them does not keep the others from running.

    A run takes all documents that lie in the job's folder and are not done yet. Ctrl-C or SIGTERM commits what is
    computed and leaves the rest to the next run. Where cloister serve works on the workspace, it is asked for the runs
    and followed until they have ended; Ctrl-C then ends the following alone. A job file outside of jobs/ is run here.

    Exit 0: done; 1: some documents failed; 2: a mistake in a job; 3: model refused; 4: the audit log cannot be trusted
    or written; 5: another run holds the workspace, and did so for as long as --wait says, or the service ended before
    the run; 6: the window of a job closed before all was done; 130: stopped, or followed no longer.
    """
    place = at.workspace
    calling = calling_of(place)
    plans, wrong = plans_of(place, jobs, calling)
    if cluster is not None:
        asked = cluster_of(place.root, place.site.cluster, cluster)
        plans = [(job, replace(plan, cluster=asked)) for job, plan in plans]
    return told(place, _run_or_ask(place, plans, calling, wait, wrong))


def _run_or_ask(place: Workspace, plans: Plans, calling: Calling, wait: float, wrong: Sequence[Ending]) -> Night:
    """Run the jobs; those of jobs/ by the service, where there is one."""
    if service_of(place) is None:
        return run_all(plans, calling, wait, wrong)
    night = Night()
    for each in wrong:
        night.refuse(each)
    for job, plan in plans:
        is_served = service_of(place) is not None and job.path.absolute().parent == place.jobs
        night.add(_ask(place, job) if is_served else run_all([(job, plan)], calling, wait))
        if night.is_over:
            break
    return night


def _ask(place: Workspace, job: LoadedJob) -> Night:
    """Have the service run the job, and follow it. It tells those whom `notify` names."""
    try:
        with Stop(_FOLLOWED) as stop, watcher_for(job.name) as watcher:
            ended = Follower(place, job.name, watcher, stop).run()
    except audit.AuditError as error:
        ended = ending_of(error, place.root, processing=True)
    if isinstance(ended, Ending):
        night = Night()
        night.refuse(ended)
        return night
    return Night(reports=[(job, ended)], interrupted=ended.interrupted)


def calling_of(workspace: Workspace) -> Calling:
    """Who is called when the runs of a command have ended; what goes wrong with that is a line on stderr."""
    return Calling(workspace, _say)


def plans_of(workspace: Workspace, names: list[str], calling: Calling) -> tuple[Plans, list[Ending]]:
    """The jobs that can run, and what is wrong with the others, of whom it is told. All are read before the first one
    runs.

    ConfigError with the problems of all if none can run.
    """
    plans, wrong = [], []
    beside = Beside(workspace, readable_jobs(workspace), [path.stem for path in workspace.job_files()])
    for name in names:
        try:
            path = find_job(workspace, name)
        except ConfigError as error:  # a slip of whoever typed it, who sees it
            wrong.append(error)
            continue
        named, config = path.stem, None
        try:
            job = load_job_of(workspace, path)
            named, config = job.name, job.config
            beside.check(job)
            plans.append((job, with_window(make_plan(workspace, job), config, datetime.now(UTC))))
        except ConfigError as error:
            calling.refused(named, config, error)
            wrong.append(error)
    if not plans:
        raise ConfigError(*(problem for error in wrong for problem in error.problems))
    return plans, [ending_of(error) for error in wrong]


def run_all(plans: Plans, calling: Calling, wait: float = 0, wrong: Sequence[Ending] = ()) -> Night:
    """Run the jobs; `wrong` tells of those that cannot run. A refused model ends its job only; a log that cannot be
    trusted, or is held for `wait` seconds, ends them all."""
    begin = pipeline.run  # which loads what a run needs: that takes long on a busy machine, and is no waiting
    night, deadline = Night(), time.monotonic() + wait
    for each in wrong:
        night.refuse(each)
    with Stop() as stop, pipeline.answer.Warming([plan for _, plan in plans]) as warming:
        calling.stop = stop
        for job, plan in plans:
            try:
                with watcher_for(plan.job, private=plan.private) as watcher:
                    warming.wait_for(plan, watcher.note, stop)
                    report = _run_when_free(partial(begin, plan, observer=watcher, stop=stop), watcher, stop, deadline)
            except (OSError, pipeline.MachineRefusedError) as error:
                calling.refused(job.name, job.config, error)
                raise
            except (pipeline.ModelRefusedError, audit.AuditError) as error:
                calling.refused(job.name, job.config, error)
                night.refuse(_refusal(error, plan))
                if isinstance(error, audit.AuditError):
                    night.interrupted = isinstance(error, audit.LogHeld) and stop()
                    break
            else:
                night.reports.append((job, report))
                calling.ended(job.config, report)
                if report.lost:
                    night.refuse(lost_rows(report))
            if stop():
                night.interrupted = len(night.reports) < len(plans) or night.reports[-1][1].interrupted
                break
    return night


def _refusal(error: pipeline.ModelRefusedError | audit.AuditError, plan: pipeline.RunPlan) -> Ending:
    """The ending of a run that could not be, or could not go on."""
    ending = ending_of(error, plan.site.root, processing=True)
    if isinstance(error, audit.LogHeld):
        ending = replace(ending, message=f"{ending.message}\n    remedy:   --wait SECONDS waits for it")
    return ending


def lost_rows(report: pipeline.RunReport) -> Ending:
    """The ending of a retry that left documents whose rows are gone; they can be taken up once the rows are back."""
    problems = [Problem(path, reason) for path, reason in report.lost]
    listed = "\n".join(f"  {problem}" for problem in problems)
    message = (
        f"{report.job}: failed requests of {counted(len(problems), 'batch file')} were not taken up again, because "
        f"rows are gone of which the output file is made:\n{listed}\n"
        "    remedy:   bring the rows back from a backup and retry; or drop the batch file again, so that all of its "
        "requests are answered anew. cloister audit verify tells what else is gone"
    )
    return Ending(ExitCode.AUDIT_FAILED, message, tuple(problems))


def _run_when_free(
    begin: Callable[[], pipeline.RunReport], observer: pipeline.report.Observer, stop: Stop, deadline: float
) -> pipeline.RunReport:
    """The run, as soon as nobody else holds the log. LogHeld after the deadline, or when it is to stop."""
    is_told = False
    while True:
        try:
            return begin()
        except audit.LogHeld as error:
            left = deadline - time.monotonic()
            if left <= 0:
                raise
            if not is_told:
                observer.note("waiting for the workspace", at_most_seconds=round(left), held=one_line(str(error)))
            is_told = True
            if stop.wait(min(_LOOK_SECONDS, left)):
                raise


_LISTS = {
    "lost": ("path", "reason"),
    "ignored": ("path", "reason"),
    "pending": ("path", "reason"),
    "failed": ("path", "failure", "reason"),
}


def told(workspace: Workspace, night: Night) -> Answer:
    """What became of the runs, with the code of all of them."""
    errors = [each.to_json()["error"] for each in night.refusals]
    runs = {"runs": [_to_json(report) for _, report in night.reports], "errors": errors, "exit_code": night.code}
    return Answer(runs, _lines(workspace, night), night.code)


def _to_json(report: pipeline.RunReport) -> dict[str, Any]:
    """The report for --json, with the lists as objects."""
    plain = {name: getattr(report, name) for name in report.__dataclass_fields__ if name not in _LISTS}
    plain["isolation"] = asdict(report.isolation) if report.isolation else None
    lists = {
        name: [dict(zip(keys, item, strict=True)) for item in getattr(report, name)] for name, keys in _LISTS.items()
    }
    return {**plain, "seen": report.seen, "held_open": report.held_open, **lists}


def _lines(workspace: Workspace, night: Night) -> Iterator[str | Table]:
    if not night.reports:
        return
    states = [state for state in night.reports[0][1].counts if any(report.counts[state] for _, report in night.reports)]
    head = ["job", "seen", *states, "seconds"]
    rows = [
        [report.job, f"{report.seen:,}", *(f"{report.counts[state]:,}" for state in states), f"{report.seconds:.1f}"]
        for _, report in night.reports
    ]
    yield Table(head, rows, right=head[1:], whole=("job",))
    for job, report in night.reports:
        yield from report_lines(workspace, job, report)


def report_lines(workspace: Workspace, job: LoadedJob, report: pipeline.RunReport) -> Iterator[str]:
    """A run in words: what came of it, and every document that has no answer."""
    yield f"{report.job}: {_outcome(report)}"
    outbox, failed = workspace.root / "outbox" / report.job, workspace.root / "failed" / report.job
    if report.parts:
        yield f"  results  {shown(outbox)}/ ({counted(len(report.parts), 'part')}); cloister results {report.job}"
    if report.counts["failed"]:
        lines = [f"{path}: {failure}: {reason}" for path, failure, reason in report.failed]
        yield f"  failed   {shown(failed)}/, each with a .reason.json:"
        yield from listed(lines, report.counts["failed"], _FAILED_LISTED)
        yield f"  again    cloister retry {report.job} takes them up again, when you have changed something"
    if report.rerun:
        yield from rerunning_lines(report.job, report.rerun)
    yield from _ignored(report)
    yield from _pending(report)
    if report.isolation and report.isolation.told:
        yield f"  parsers  isolation {report.isolation.told}"
    if not report.pinned and report.parts:
        yield f"  model    not pinned; write into {shown(job.path)}, under model:"
        yield f'             sha256: "{report.model_sha256}"'
    if report.no_report:
        yield f"  report   none could be made: {one_line(report.no_report)}"
    elif report.report:
        yield f"  report   {shown(report.report)}"


_MADE_BY = {
    "settings": "made by other settings",
    "model": "made by another model",
    "everything": "made by today's settings, and --all takes them",
}


def rerunning_lines(job: str, told: pipeline.report.Rerunning) -> Iterator[str]:
    """Which archived documents a rerun takes, and which of those that fit it does not."""
    if told.continued:
        yield "  before   goes on with the rerun that was cut off"
    if told.why:
        yield f"  because  {', '.join(f'{count:,} {_MADE_BY[why]}' for why, count in told.why.items())}"
    if told.same:
        fits, be = ("fits", "was") if told.same == 1 else ("fit", "were")
        fact = f"{counted(told.same, 'document')} that {fits} {be} answered"
        yield f"  same     {fact} with today's settings: cloister rerun {job} --all answers them again, too"


def _ignored(report: pipeline.RunReport) -> Iterator[str]:
    """How many files were ignored: documents that were done before are told apart from files that are never taken, and
    from archived documents that a rerun left."""
    if report.known:
        yield f"  before   {counted(report.known, 'document')} done in an earlier run"
    if never := report.counts["ignored"] - report.known:
        kinds = f": {of_names(report.names)}" if report.names else ""
        left = f"  left     {counted(never, 'document')}"
        yield (left if report.rerun else f"  ignored  {counted(never, 'file')}{kinds}") + ":"
        yield from listed([f"{path}: {reason}" for path, reason in report.ignored], never)


def _pending(report: pipeline.RunReport) -> Iterator[str]:
    """Some are pending for a reason of their own; the others, because the run was stopped or its window closed."""
    if report.interrupted:
        yield "  stopped  what is finished is committed"
    if report.window_closed:
        rest = "give the same command again for the rest" if report.rerun else "the rest is first in the next run"
        yield f"  window   closed before all was done: what is finished is committed; {rest}"
    if pending := report.counts["pending"]:
        be = "is" if pending == 1 else "are"
        again = "give the same command again" if report.rerun else "run again"
        yield f"  pending  {counted(pending, 'document')} {be} still to be done: {again}"
        if report.held_open:
            yield f"           of them {counted(len(report.held_open), 'file')} held open by a writer"
        yield from listed([f"{path}: {reason}" for path, reason in report.pending], pending)


def _outcome(report: pipeline.RunReport) -> str:
    worked = report.seen - report.counts["ignored"] - report.counts["pending"]
    if worked:
        pace = f", {pace_of(worked, report.seconds)}" if report.seconds >= 1 else ""
        return f"{counted(worked, 'document')} in {report.seconds:.1f} s{pace}"
    if report.lost and not report.seen:
        return "nothing was taken up again"
    if report.retried and not report.seen:
        return "nothing to do: no such failed document can be taken up again"
    if report.rerun and not report.counts["pending"]:
        return "nothing to do: no archived document that fits is answered again"
    if report.interrupted:
        return "stopped before the first document was finished"
    if report.window_closed:
        return "the window closed before the first document was finished"
    if report.counts["pending"]:
        return "nothing is ready yet"
    if report.known:
        be = "was" if report.known == 1 else "were"
        return f"nothing to do: {counted(report.known, 'document')} {be} done before"
    lies = f"no new document among {counted(report.seen, 'file')}" if report.seen else "no file lies there"
    return f"nothing to do: {lies}"
