"""`cloister run`: one run of each job, one after another."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn

import typer

import audit
import pipeline
from jobs.cli.cluster_options import ClusterOption
from jobs.cli.describe import of_names, pace_of
from jobs.cli.options import JobsArgument, JsonOption, WaitOption, WorkspaceOption
from jobs.cli.output import print_json, print_table, say, say_list
from jobs.config.cluster import cluster_of
from jobs.config.load import LoadedJob, shown
from jobs.config.plan import make_plan
from jobs.config.workspace import Workspace, find_job, load_job_of, open_workspace, readable_jobs
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


def run(
    jobs: JobsArgument,
    wait: WaitOption = 0,
    cluster: ClusterOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run jobs once, one after another; a mistake in one of them does not keep the others from running.

    A run takes all documents that lie in the job's folder and are not done yet. Ctrl-C or SIGTERM commits what is
    computed and leaves the rest to the next run. Where cloister serve works on the workspace, it is asked for the runs
    and followed until they have ended; Ctrl-C then ends the following alone. A job file outside of jobs/ is run here.

    Exit 0: done; 1: some documents failed; 2: a mistake in a job; 3: model refused; 4: the audit log cannot be trusted
    or written; 5: another run holds the workspace, and did so for as long as --wait says, or the service ended before
    the run; 6: the window of a job closed before all was done; 130: stopped, or followed no longer.
    """
    place = open_workspace(workspace)
    calling = calling_of(place)
    plans, wrong = plans_of(place, jobs, calling)
    if cluster is not None:
        asked = cluster_of(place.root, place.site.cluster, cluster)
        plans = [(job, replace(plan, cluster=asked)) for job, plan in plans]
    end(place, _run_or_ask(place, plans, calling, wait, wrong), as_json)


def _run_or_ask(
    place: Workspace,
    plans: list[tuple[LoadedJob, pipeline.RunPlan]],
    calling: Calling,
    wait: float,
    wrong: Sequence[Ending],
) -> Night:
    """Run the jobs; those of jobs/ by the service, where there is one."""
    if service_of(place) is None:
        return run_all(plans, calling, wait, wrong)
    night = Night(refusals=[*wrong])
    for each in wrong:
        print(visible(each.message), file=sys.stderr)
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
        print(visible(ended.message), file=sys.stderr)
        return Night(refusals=[ended])
    return Night(reports=[(job, ended)], interrupted=ended.interrupted)


def calling_of(workspace: Workspace) -> Calling:
    """Who is called when the runs of a command have ended; what goes wrong with that is a line on stderr."""
    return Calling(workspace, lambda line: print(visible(line), file=sys.stderr))


def end(workspace: Workspace, night: Night, as_json: bool) -> NoReturn:
    """Tell what became of the runs, and exit with the code of all of them."""
    if as_json:
        told = {"runs": [_told(report) for _, report in night.reports]}
        print_json(
            {**told, "errors": [each.to_json()["error"] for each in night.refusals], "exit_code": int(night.code)}
        )
    else:
        _print(workspace, night)
    raise typer.Exit(int(night.code))


def plans_of(
    workspace: Workspace, names: list[str], calling: Calling
) -> tuple[list[tuple[LoadedJob, pipeline.RunPlan]], list[Ending]]:
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
        try:
            job = load_job_of(workspace, path)
        except ConfigError as error:
            calling.refused(path.stem, None, error)
            wrong.append(error)
            continue
        try:
            beside.check(job)
            plan = with_window(make_plan(workspace, job), job.config, datetime.now(UTC))
        except ConfigError as error:
            calling.refused(job.name, job.config, error)
            wrong.append(error)
        else:
            plans.append((job, plan))
    if not plans:
        raise ConfigError(*(problem for error in wrong for problem in error.problems))
    return plans, [ending_of(error) for error in wrong]


def run_all(
    plans: list[tuple[LoadedJob, pipeline.RunPlan]], calling: Calling, wait: float = 0, wrong: Sequence[Ending] = ()
) -> Night:
    """Run the jobs; `wrong` tells of those that cannot run. A refused model ends its job only; a log that cannot be
    trusted, or is held for `wait` seconds, ends them all."""
    begin = pipeline.run  # which loads what a run needs: that takes long on a busy machine, and is no waiting
    night, deadline = Night(refusals=[*wrong]), time.monotonic() + wait
    for each in wrong:
        print(visible(each.message), file=sys.stderr)
    with Stop() as stop, pipeline.Warming([plan for _, plan in plans]) as warming:
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
                night.refusals.append(_refusal(error, plan))
                print(visible(night.refusals[-1].message), file=sys.stderr)
                if isinstance(error, audit.AuditError):
                    night.interrupted = isinstance(error, audit.LogHeld) and stop()
                    break
            else:
                night.reports.append((job, report))
                calling.ended(job.config, report)
                if report.lost:
                    night.refusals.append(lost_rows(report))
                    print(visible(night.refusals[-1].message), file=sys.stderr)
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
    told = "\n".join(f"  {problem}" for problem in problems)
    message = (
        f"{report.job}: failed requests of {counted(len(problems), 'batch file')} were not taken up again, because "
        f"rows are gone of which the output file is made:\n{told}\n"
        "    remedy:   bring the rows back from a backup and retry; or drop the batch file again, so that all of its "
        "requests are answered anew. cloister audit verify tells what else is gone"
    )
    return Ending(ExitCode.AUDIT_FAILED, message, tuple(problems))


def _run_when_free(
    begin: Callable[[], pipeline.RunReport], observer: pipeline.Observer, stop: Stop, deadline: float
) -> pipeline.RunReport:
    """The run, as soon as nobody else holds the log. LogHeld after the deadline, or when it is to stop."""
    told = False
    while True:
        try:
            return begin()
        except audit.LogHeld as error:
            left = deadline - time.monotonic()
            if left <= 0:
                raise
            if not told:
                observer.note("waiting for the workspace", at_most_seconds=round(left), held=one_line(str(error)))
            told = True
            if stop.wait(min(_LOOK_SECONDS, left)):
                raise


def _told(report: pipeline.RunReport) -> dict[str, Any]:
    """The report for --json, with the lists as objects."""
    plain = {name: getattr(report, name) for name in report.__dataclass_fields__ if name not in _LISTS}
    plain["isolation"] = asdict(report.isolation) if report.isolation else None
    lists = {
        name: [dict(zip(keys, item, strict=True)) for item in getattr(report, name)] for name, keys in _LISTS.items()
    }
    return {**plain, "seen": report.seen, "held_open": report.held_open, **lists}


_LISTS = {
    "lost": ("path", "reason"),
    "ignored": ("path", "reason"),
    "pending": ("path", "reason"),
    "failed": ("path", "failure", "reason"),
}


def _print(workspace: Workspace, night: Night) -> None:
    if not night.reports:
        return
    states = [state for state in night.reports[0][1].counts if any(report.counts[state] for _, report in night.reports)]
    head = ["job", "seen", *states, "seconds"]
    rows = [
        [report.job, f"{report.seen:,}", *(f"{report.counts[state]:,}" for state in states), f"{report.seconds:.1f}"]
        for _, report in night.reports
    ]
    print_table(head, rows, right=head[1:], whole=("job",))
    for job, report in night.reports:
        print_report(workspace, job, report)


def print_report(workspace: Workspace, job: LoadedJob, report: pipeline.RunReport) -> None:
    """A run in words: what came of it, and every document that has no answer."""
    say(f"{report.job}: {_outcome(report)}")
    outbox, failed = workspace.root / "outbox" / report.job, workspace.root / "failed" / report.job
    if report.parts:
        say(f"  results  {shown(outbox)}/ ({counted(len(report.parts), 'part')}); cloister results {report.job}")
    if report.counts["failed"]:
        say(f"  failed   {shown(failed)}/, each with a .reason.json:")
        say_list(
            [f"{path}: {failure}: {reason}" for path, failure, reason in report.failed],
            report.counts["failed"],
            _FAILED_LISTED,
        )
        say(f"  again    cloister retry {report.job} takes them up again, when you have changed something")
    if report.rerun:
        print_rerunning(report.job, report.rerun)
    _print_ignored(report)
    _print_pending(report)
    if report.isolation and report.isolation.told:
        say(f"  parsers  isolation {report.isolation.told}")
    if not report.pinned and report.parts:
        say(f"  model    not pinned; write into {shown(job.path)}, under model:")
        say(f'             sha256: "{report.model_sha256}"')
    if report.no_report:
        say(f"  report   none could be made: {one_line(report.no_report)}")
    elif report.report:
        say(f"  report   {shown(report.report)}")


def print_rerunning(job: str, told: pipeline.Rerunning) -> None:
    """Print which archived documents a rerun takes, and which of those that fit it does not."""
    if told.continued:
        say("  before   goes on with the rerun that was cut off")
    if told.why:
        say(f"  because  {', '.join(f'{count:,} {_MADE_BY[why]}' for why, count in told.why.items())}")
    if told.same:
        be = "was" if told.same == 1 else "were"
        fact = f"{counted(told.same, 'document')} that {'fits' if told.same == 1 else 'fit'} {be} answered"
        say(f"  same     {fact} with today's settings: cloister rerun {job} --all answers them again, too")


_MADE_BY = {
    "settings": "made by other settings",
    "model": "made by another model",
    "everything": "made by today's settings, and --all takes them",
}


def _print_ignored(report: pipeline.RunReport) -> None:
    """Print how many files were ignored: documents that were done before are told apart from files that are never
    taken, and from archived documents that a rerun left."""
    if report.known:
        say(f"  before   {counted(report.known, 'document')} done in an earlier run")
    never = report.counts["ignored"] - report.known
    if never:
        kinds = f": {of_names(report.names)}" if report.names else ""
        left = f"  left     {counted(never, 'document')}"
        say((left if report.rerun else f"  ignored  {counted(never, 'file')}{kinds}") + ":")
        say_list([f"{path}: {reason}" for path, reason in report.ignored], never)


def _print_pending(report: pipeline.RunReport) -> None:
    """Some are pending for a reason of their own; the others, because the run was stopped or its window closed."""
    pending = report.counts["pending"]
    if report.interrupted:
        say("  stopped  what is finished is committed")
    if report.window_closed:
        rest = "give the same command again for the rest" if report.rerun else "the rest is first in the next run"
        say(f"  window   closed before all was done: what is finished is committed; {rest}")
    if pending:
        be = "is" if pending == 1 else "are"
        again = "give the same command again" if report.rerun else "run again"
        say(f"  pending  {counted(pending, 'document')} {be} still to be done: {again}")
        if report.held_open:
            say(f"           of them {counted(len(report.held_open), 'file')} held open by a writer")
        say_list([f"{path}: {reason}" for path, reason in report.pending], pending)


def _outcome(report: pipeline.RunReport) -> str:
    """The run in a line."""
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
        return (
            f"nothing to do: {counted(report.known, 'document')} {'was' if report.known == 1 else 'were'} done before"
        )
    return "nothing to do: " + (
        f"no new document among {counted(report.seen, 'file')}" if report.seen else "no file lies there"
    )
