"""Mistakes that no job has alone: jobs that take each other's files, or that start each other for ever."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from jobs.errors import ConfigError, Problem
from jobs.load import LoadedJob, did_you_mean
from jobs.plan import input_folder
from jobs.workspace import Workspace

_ENDING = re.compile(r"\*\.[^*?\[]+")  # a pattern of which it can be said whether it meets another one


def check_beside(workspace: Workspace, job: LoadedJob, others: Iterable[LoadedJob], files: Collection[str]) -> None:
    """ConfigError if a job does not fit those that lie beside it: `others` are those that can be read, and `files` the
    names of all. The job itself may be among them."""
    beside = {other.name: other for other in others if other.name != job.name}
    problems = [*_folders(workspace, job, beside.values()), *_after(job, beside, files)]
    if problems:
        raise ConfigError(*problems)


def _folders(workspace: Workspace, job: LoadedJob, others: Iterable[LoadedJob]) -> Iterator[Problem]:
    """Files that one job moves away are lost to the other one."""
    own = input_folder(workspace, job).resolve()
    for other in others:
        theirs = input_folder(workspace, other).resolve()
        moves = "archive" in (job.config.input.afterwards, other.config.input.afterwards)
        if moves and _meet(own, theirs) and not _apart(job.config.input.include, other.config.input.include):
            found = f"the folder {own}, from which the job {other.name!r} takes files too" + (
                "" if own == theirs else f" ({theirs})"
            )
            remedy = "give each job a folder of its own; or input.include with different endings, or keep the files "
            remedy += "in both (input.afterwards: keep)"
            yield job.source.problem(("input", "folder"), found, "a folder from which one job takes files", remedy)


def _meet(one: Path, other: Path) -> bool:
    return one == other or one in other.parents or other in one.parents


def _apart(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether no file can match both, as far as can be said."""
    endings = [{each.lower() for each in patterns} for patterns in (one, other)]
    known = all(_ENDING.fullmatch(each) for each in endings[0] | endings[1])
    return known and not any(a.endswith(b[1:]) or b.endswith(a[1:]) for a in endings[0] for b in endings[1])


def _after(job: LoadedJob, others: Mapping[str, LoadedJob], files: Collection[str]) -> Iterator[Problem]:
    after = job.config.after
    if after is None:
        return
    if after not in files and after not in others:
        known = sorted({*files, *others} - {job.name})
        expected = f"one of {', '.join(known)}" if known else "another job of the workspace"
        yield job.source.problem(("after",), f"after: {after}, which is no job", expected, did_you_mean(after, known))
        return
    chain = [job.name]
    while after is not None and after not in chain:
        chain.append(after)
        after = others[after].config.after if after in others else None
    if after == job.name:
        found = f"a circle: {' after '.join([*chain, job.name])}"
        remedy = "give one of them a schedule, or let files start it"
        yield job.source.problem(("after",), found, "jobs of which one starts by itself", remedy)
