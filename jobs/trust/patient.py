"""What is examined: this machine, and a workspace if there is one, however broken it may be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import audit
import pipeline
from jobs.config.load import LoadedJob
from jobs.config.plan import load_and_plan, make_site
from jobs.config.workspace import VARIABLE, Workspace, find_workspace, open_workspace
from jobs.errors import ConfigError

READ_WHOLE = 5_000
"""So many entries are read in a second or two. Of a longer log only the end is looked at."""


@dataclass(frozen=True)
class Patient:
    """What a check is given. `folder` is that of the workspace, and `workspace` what its site.yaml says: None where
    `wrong` says why it cannot be read. What the kernel and the system say is read below `root`, and the clock is
    `stamp`. Where it `is_brief`, no log is read whole."""

    folder: Path | None = None
    workspace: Workspace | None = None
    wrong: ConfigError | None = None
    root: Path = Path("/")
    stamp: Callable[[], audit.Stamp] = audit.stamp_now
    is_brief: bool = False

    @property
    def place(self) -> Path:
        """The folder of the workspace, for checks that need one."""
        assert self.folder is not None
        return self.folder

    @cached_property
    def machine(self) -> pipeline.answer.Machine:
        """What there is to compute with."""
        return pipeline.answer.look_at_machine(self.root)

    @cached_property
    def site(self) -> pipeline.Site:
        """The workspace as the pipeline knows it, for checks that need its site.yaml."""
        assert self.workspace is not None
        return make_site(self.workspace)

    @cached_property
    def jobs(self) -> dict[Path, tuple[LoadedJob, pipeline.RunPlan] | ConfigError | OSError]:
        """Each job file with its job and plan, or with what is wrong with it; empty without a site.yaml."""
        if self.workspace is None:
            return {}
        return {path: load_and_plan(self.workspace, path) for path in self.workspace.job_files()}

    @cached_property
    def register(self) -> pipeline.records.Register | None:
        """What the log says of models, once all of it was read; None of a log that is too long for that. Raises
        audit.AuditError where it is not as it was signed."""
        if self.is_brief or audit.check_tail(self.site.audit, self.site.public_key).size > READ_WHOLE:
            return None
        register = pipeline.records.Register()
        pipeline.status(self.site, register)
        return register

    def plans(self) -> Iterator[tuple[LoadedJob, pipeline.RunPlan]]:
        """The jobs that can be planned, with their plans."""
        yield from (each for each in self.jobs.values() if isinstance(each, tuple))


def find_patient(option: Path | None) -> Patient:
    """This machine, with the workspace that a command would take; without one where none is named and none is found.
    ConfigError for one that is named and is none."""
    try:
        folder = find_workspace(option)
    except ConfigError:
        if option is not None or os.environ.get(VARIABLE):
            raise
        return Patient()
    try:
        return Patient(folder, open_workspace(folder))
    except ConfigError as error:
        return Patient(folder, None, error)
