"""`cloister rerun`, archived documents answered again by today's settings; and `cloister retry`, failed documents taken
up again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import pipeline
from jobs.cli.options import Folder, Jobs, Labels, Night, States, Text, Wait, option
from jobs.cli.printing import Answer, At, listed
from jobs.cli.run import Plans, calling_of, plans_of, rerunning_lines, run_all, told
from jobs.config.load import did_you_mean
from jobs.errors import ConfigError, Ending, ExitCode, Problem, ending_of, worst
from jobs.visible import counted

_LISTED = 20
_ELSEWHERE = {
    "failed": "cloister retry takes up what failed, from failed/",
    "duplicate": "a copy has no answer of its own: it follows the document that it is a copy of",
}


def retry(
    at: At,
    jobs: Jobs,
    classes: Annotated[
        list[str] | None,
        option(
            "--class",
            "Only failed documents of this class: timeout, needs_ocr, encrypted, …; may be given several times.",
            "CLASS",
        ),
    ] = None,
    wait: Wait = 0,
) -> Answer:
    """Take up failed documents again, from failed/ or, if they could not be read, from the input folder.

    For when a limit was raised, Tesseract installed or Cloister updated. A document that can be read now gets its
    row, which supersedes the failed one, and leaves failed/. What else lies in the input folder waits for the next run.
    It is not handed over to cloister serve: while that runs a job, retry waits for --wait SECONDS, or ends with exit 5.
    Exit codes are those of run.
    """
    place = at.workspace
    known = {failure.value: failure for failure in pipeline.Failure}
    expected = f"one of {', '.join(known)}"
    problems = [
        Problem(f"--class {each}", "no class of failures", expected) for each in classes or () if each not in known
    ]
    if problems:
        raise ConfigError(*problems)
    chosen = frozenset(known[name] for name in classes or known)
    calling = calling_of(place)
    plans, wrong = plans_of(place, jobs, calling)
    plans = [(job, replace(plan, retry=chosen)) for job, plan in plans]
    return told(place, run_all(plans, calling, wait, wrong))


def rerun(
    at: At,
    jobs: Jobs,
    everything: Annotated[
        bool, option("--all", "Also documents that today's settings and model answered: after an update.")
    ] = False,
    state: States = None,
    label: Labels = None,
    folder: Folder = None,
    night: Night = None,
    text: Text = None,
    sample: Annotated[int | None, option("--sample", "Of all that fit, N drawn at random.", "N", min=1)] = None,
    seed: Annotated[
        str | None, option("--seed", "Draw by this seed; if left out, by the root of the log.", "TEXT")
    ] = None,
    decided: Annotated[
        bool,
        option("--decided", "Also documents on whose row a person decided; the new answer takes its place."),
    ] = False,
    dry_run: Annotated[
        bool, option("--dry-run", "Only say how many documents would be answered again, and why.")
    ] = False,
    wait: Wait = 0,
) -> Answer:
    """Answer archived documents again, after labels, the model or other settings of a job changed.

    Without --all these are the documents whose row was made by other settings, or another model, than today's. Each
    new row takes the place of the one before. What a person decided stays, unless --decided is given; what is held,
    deleted or altered in the archive is told and left. A rerun that was cut off goes on when the same command is given
    again. Nothing is taken from the job's folder. Window and exit codes are those of run.
    """
    known = [*map(str, pipeline.rerun.RERUNNABLE)]
    for name in state or ():
        if name not in known:
            remedy = _ELSEWHERE.get(name) or did_you_mean(name, known)
            raise ConfigError(Problem("--state", repr(name), f"one of {', '.join(known)}", remedy))
    if seed is not None and sample is None:
        raise ConfigError(Problem("--seed", "without --sample", "--sample N, to draw N documents"))
    asked = pipeline.plan.Rerun(
        everything=everything, decided=decided, states=tuple(sorted({*(state or ())})),
        labels=tuple(sorted({*(label or ())})), folder=folder, night=night, text=text, sample=sample, seed=seed,
    )  # fmt: skip
    place = at.workspace
    calling = calling_of(place)
    plans, wrong = plans_of(place, jobs, calling)
    plans, batches = _without_batches(plans)
    wrong += batches
    plans = [(job, replace(plan, rerun=asked)) for job, plan in plans]
    return _foreseen(at, plans, wrong) if dry_run else told(place, run_all(plans, calling, wait, wrong))


def _without_batches(plans: Plans) -> tuple[Plans, list[Ending]]:
    """The jobs that can be run again, and the endings of those that cannot. ConfigError if none can."""
    problems = [
        Problem(
            str(job.path), "a job of batch files, whose requests are answered once",
            "a job whose documents are answered one by one",
            "put the batch file into the folder again; under other settings its requests are answered anew",
        )
        for job, plan in plans
        if plan.is_batch
    ]  # fmt: skip
    if problems and len(problems) == len(plans):
        raise ConfigError(*problems)
    kept = [(job, plan) for job, plan in plans if not plan.is_batch]
    return kept, [ending_of(ConfigError(problem)) for problem in problems]


def _foreseen(at: At, plans: Plans, wrong: list[Ending]) -> Answer:
    foreseen, refused = list[pipeline.rerun.Rechosen](), [*wrong]
    for _, plan in plans:
        try:
            foreseen.append(pipeline.rerun.foresee_rerun(plan))
        except pipeline.ModelRefusedError as error:
            refused.append(ending_of(error, at.workspace.root, processing=True))
    code = worst([ending.code for ending in refused] or [ExitCode.DONE])
    errors = [each.to_json()["error"] for each in refused]
    runs = {"runs": list(map(_to_json, foreseen)), "errors": errors, "exit_code": code}
    return Answer(runs, _lines(foreseen, refused), code)


def _to_json(foreseen: pipeline.rerun.Rechosen) -> dict[str, Any]:
    left = [{"path": path, "reason": reason} for path, reason in foreseen.left]
    return {
        "job": foreseen.job, "dry_run": True, "would": len(foreseen.paths), "rerun": foreseen.told,
        "documents": foreseen.paths, "left": left,
    }  # fmt: skip


def _lines(foreseen: Sequence[pipeline.rerun.Rechosen], refused: Sequence[Ending]) -> Iterator[str]:
    for each in foreseen:
        would = counted(len(each.paths), "document")
        yield f"{each.job}: {would} would be answered again" if each.paths else f"{each.job}: nothing to do"
        yield from rerunning_lines(each.job, each.told)
        yield from listed(list(each.paths), len(each.paths), _LISTED)
        if each.left:
            yield f"  left     {counted(len(each.left), 'document')}:"
            yield from listed([f"{path}: {reason}" for path, reason in each.left], len(each.left), _LISTED)
    yield from (ending.message for ending in refused)
