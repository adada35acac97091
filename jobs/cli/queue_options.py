"""Options that choose rows of the queue, for the commands of `cloister review`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import typer

import pipeline
from jobs.cli.options import job_names
from jobs.config.load import did_you_mean
from jobs.config.workspace import Workspace, no_such_job
from jobs.errors import ConfigError, Problem

JobArgument = Annotated[
    str | None, typer.Argument(metavar="JOB", help="Only rows of this job.", autocompletion=job_names)
]
StateOption = Annotated[
    list[str] | None,
    typer.Option("--state", metavar="STATE", help="Only rows in this state; may be given several times."),
]
LabelOption = Annotated[
    list[str] | None, typer.Option("--label", metavar="LABEL", help="Only rows with this label; also several times.")
]
FailureOption = Annotated[
    list[str] | None,
    typer.Option("--failure", metavar="CLASS", help="Only rows that failed in this way; also several times."),
]
FolderOption = Annotated[
    str | None, typer.Option("--folder", metavar="FOLDER", help="Only documents from this folder, or below it.")
]
NightOption = Annotated[
    str | None,
    typer.Option("--night", metavar="DATE", help="Only rows of this night, by the date of its evening: 2026-11-23."),
]
TextOption = Annotated[
    str | None, typer.Option("--text", metavar="TEXT", help="Only rows whose path, answer or reason has this text.")
]
DecidedOption = Annotated[
    str | None,
    typer.Option("--decided", metavar="WHAT", help="Only rows that a person accepted, corrected or rejected; or any, "
                 "none."),
]  # fmt: skip
SettingsOption = Annotated[
    bool, typer.Option("--current-settings", help="Only rows made by the settings and model of the job's newest row.")
]
SortOption = Annotated[
    str, typer.Option("--sort", metavar="ORDER", help=f"One of {', '.join(pipeline.SORTS)}.", show_default=True)
]
_DECIDED = ("accepted", "corrected", "rejected", "any", "none")


@dataclass(frozen=True)
class Chosen:
    """The rows that the options choose, and their order."""

    asked: pipeline.Filter
    sort: str


def chosen(
    place: Workspace, job: str | None, states: Iterable[str], labels: Iterable[str], failures: Iterable[str],
    folder: str | None, night: str | None, text: str | None, decided: str | None, current: bool, sort: str,
) -> Chosen:  # fmt: skip
    """Check what was asked for. ConfigError."""
    if job is not None:
        check_job(place, job)
    for state in states:
        check_one_of("--state", state, known_states())
    for failure in failures:
        check_one_of("--failure", failure, [*map(str, pipeline.Failure)])
    check_one_of("--sort", sort, [*pipeline.SORTS])
    if decided is not None:
        check_one_of("--decided", decided, [*_DECIDED])
    asked = pipeline.Filter(
        jobs=(job,) if job else (), states=tuple(states), labels=tuple(labels), failures=tuple(failures),
        folder=folder, night=night, text=text, review=decided, settings="current" if current else None,
    )  # fmt: skip
    return Chosen(asked, sort)


def known_states() -> list[str]:
    """The states that rows can have."""
    return sorted({*map(str, pipeline.State), "rejected"} - {"ignored", "pending"})


def check_one_of(option: str, said: str, known: list[str]) -> None:
    """ConfigError for a word that is none of them."""
    if said not in known:
        raise ConfigError(Problem(option, repr(said), f"one of {', '.join(known)}", did_you_mean(said, known)))


def check_job(place: Workspace, job: str) -> None:
    """ConfigError for a job that has neither a file nor results."""
    there = {path.name for path in (place.root / "outbox").glob("*")}
    known = sorted({path.stem for path in place.job_files()} | there)
    if job not in known:
        raise ConfigError(no_such_job(place, job, known))
