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


class Beside:
    """The jobs of a workspace beside each other: those that can be read, and the names of all `files`. Folders are
    looked up once, for hundreds of jobs are each held against all others."""

    def __init__(self, workspace: Workspace, jobs: Iterable[LoadedJob], files: Collection[str]) -> None:
        self.workspace, self.files = workspace, files
        self.jobs = {job.name: job for job in jobs}
        self._in: dict[Path, list[LoadedJob]] = {}
        self._below: dict[Path, list[LoadedJob]] = {}
        for job in self.jobs.values():
            folder = self.folder_of(job)
            self._in.setdefault(folder, []).append(job)
            for above in folder.parents:
                self._below.setdefault(above, []).append(job)

    def folder_of(self, job: LoadedJob) -> Path:
        """Where the job's files really lie."""
        return input_folder(self.workspace, job).resolve()

    def check(self, job: LoadedJob) -> None:
        """ConfigError if a job does not fit those that lie beside it. The job itself may be among them."""
        others = {name: other for name, other in self.jobs.items() if name != job.name}
        problems = [*self._folders(job), *_after(job, others, self.files)]
        if problems:
            raise ConfigError(*problems)

    def _folders(self, job: LoadedJob) -> Iterator[Problem]:
        """Files that one job moves away are lost to the other one."""
        own = self.folder_of(job)
        near = [each for folder in (own, *own.parents) for each in self._in.get(folder, [])]
        for other in sorted((*near, *self._below.get(own, [])), key=lambda each: each.name):
            moves = "archive" in (job.config.input.afterwards, other.config.input.afterwards)
            if other.name != job.name and moves and not _apart(job.config.input.include, other.config.input.include):
                theirs = self.folder_of(other)
                found = f"the folder {own}, from which the job {other.name!r} takes files too" + (
                    "" if own == theirs else f" ({theirs})"
                )
                remedy = "give each job a folder of its own; or input.include with different endings, or keep the "
                remedy += "files in both (input.afterwards: keep)"
                yield job.source.problem(("input", "folder"), found, "a folder from which one job takes files", remedy)


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
