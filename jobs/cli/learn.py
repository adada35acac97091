"""`cloister learn`: what was learned from examples answers a job."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated

import pipeline
from jobs.cli.at import At
from jobs.cli.options import argument, option
from jobs.cli.printing import Answer
from jobs.errors import ConfigError, Problem, StoppedError
from jobs.plan import make_plan
from jobs.progress import telling
from jobs.visible import counted, one_line
from jobs.workspace import find_job, load_job_of

SHOWN = 20  # mistakes in examples


def learn(
    at: At,
    job: Annotated[str, argument("JOB", "The job: its name, or the path of its file.")],
    examples: Annotated[
        Path,
        option(
            "--examples",
            "A CSV or JSONL file with `text` or `document`, and `label`, `summary` or `fields` (CSV: a column for "
            "each); or a folder with a folder for each label; or the word review: the rows that people accepted or "
            "corrected.",
            "PATH",
        ),
    ],
    skip_missing: Annotated[
        bool, option("--skip-missing", "Leave out values of fields that do not stand in their document.")
    ] = False,
) -> Answer:
    """Learn from examples how to answer a job: on a model that gives embeddings, or labels on one that writes.

    Writes models/JOB.head and says what to write into the job for it to be used, and how good it is on examples that it
    had not seen. If it was stopped, the same command goes on where it was. Exit 2 if an example is not as it must be, 3
    for a refused model; the old head then stays.
    """
    place = at.workspace
    loaded = load_job_of(place, find_job(place, job))
    plan, task = make_plan(place, loaded), loaded.config.task.type
    if skip_missing and task != "extract":
        found = f"a job of the task {task}, whose examples have no values of fields"
        raise ConfigError(Problem("--skip-missing", found, "a job of the task extract"))
    try:
        with refused_examples(examples), telling("learn") as progress, examples_of(plan, examples, placed=True) as file:
            report = pipeline.learn_head(plan, file, progress, skip_missing=skip_missing)
    except KeyboardInterrupt as stopped:
        kept = getattr(stopped, "__notes__", ["Nothing is kept, and the same command begins anew."])
        raise StoppedError(f"models/{loaded.name}.head is as it was.", *kept) from None
    measured = asdict(report.measured)  # type: ignore[call-overload]  # a dataclass of each task's own
    own = {one.name: getattr(report, one.name) for one in fields(report) if one.name != "measured"}
    return Answer({**own, **measured}, _lines(report))


def examples_of(plan: pipeline.RunPlan, given: Path, *, placed: bool) -> contextlib.AbstractContextManager[Path]:
    """The file or folder that was given; for the word review, a file of what people accepted and corrected."""
    if str(given) == pipeline.REVIEW:
        return pipeline.review_examples(plan, placed=placed)
    return contextlib.nullcontext(given)


@contextlib.contextmanager
def refused_examples(examples: Path) -> Iterator[None]:
    """ConfigError for examples that are refused, with their mistakes, each with its place."""
    try:
        yield
    except pipeline.ExamplesRefusedError as error:
        shown = [Problem(one.where, one.found, one.expected, one.remedy) for one in error.mistakes[:SHOWN]]
        if more := len(error.mistakes) - len(shown):
            shown.append(Problem(str(examples), f"{counted(more, 'further mistake')} like these"))
        raise ConfigError(*shown) from None


def _lines(report: pipeline.LearnReport) -> Iterator[str]:
    again = f", {report.again:,} of them given twice and learned once" if report.again else ""
    yield f"learned {report.name} from {counted(report.examples, 'example')} in {report.seconds:.1f} s{again}"
    if report.skipped:
        yield f"  left out  {counted(len(report.skipped), 'value')} of fields, which do not stand in their document:"
        yield from (f"            {each.where}: {one_line(each.found)}" for each in report.skipped[:SHOWN])
        if len(report.skipped) > SHOWN:
            yield f"            and {len(report.skipped) - SHOWN:,} more; --json names all of them"
    yield from (f"  {name:<9} {told}" for name, told in (*report.measured.told(), ("file", report.path)))
    yield "To use it, write into the job:"
    yield f"  model:\n    head:\n      name: {report.name}\n      sha256: {report.sha256}"
