"""The matrix: each clause with what the product does about it, and the evidence of this site beside each measure."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pipeline
from jobs.console.access.people import People
from jobs.controls.base import Control, Evidence, Running, Standing
from jobs.controls.measures import MEASURES
from jobs.controls.rules import RULES
from jobs.errors import ConfigError
from jobs.load import LoadedJob, shown
from jobs.plan import make_site
from jobs.workspace import Workspace, load_job_of

READ_BY_AN_ENGINEER = (
    "This is an engineer's reading of the rules, not legal advice. It says what the program does and what this site's "
    "files and log show; whether that is enough is for the site to decide."
)
_TEMPLATE = Path(__file__).with_name("matrix.html")


class Line(NamedTuple):
    """One measure of a clause: what the product does, which command shows it, and this site's evidence."""

    name: str
    does: str
    see: str
    evidence: Evidence


class Clause(NamedTuple):
    """A clause and the measures that answer it."""

    control: Control
    lines: tuple[Line, ...]


class Answered(NamedTuple):
    """A rule by its `name` on the command line, with all its clauses answered."""

    name: str
    title: str
    text: str
    left_out: str
    clauses: tuple[Clause, ...]

    @property
    def counts(self) -> Counter[Standing]:
        """How many different measures of the rule stand how."""
        return Counter({line.name: line.evidence.standing for clause in self.clauses for line in clause.lines}.values())


def running_now(workspace: Workspace) -> Running:
    """The workspace as it is now, with its log counted. Raises ConfigError, audit.AuditError."""
    site = make_site(workspace)
    jobs: list[LoadedJob] = []
    broken = []
    for path in workspace.job_files():
        try:
            jobs.append(load_job_of(workspace, path))
        except ConfigError:
            broken.append(shown(path))
    return Running(
        workspace, site, tuple(jobs), tuple(broken), _people(workspace), pipeline.tally(site), datetime.now(UTC)
    )


def _people(workspace: Workspace) -> dict[str, tuple[str, ...]] | None:
    """Who may use the console, with the roles of each; None where this user may not look into keys/, as an auditor."""
    keys = workspace.root / "keys"
    if keys.is_dir() and not os.access(keys, os.R_OK | os.X_OK, effective_ids=True):
        return None
    invited = {person.name: tuple(person.roles) for person in People(keys).all().values()}
    return {**workspace.site.console.people, **invited}


def matrix(running: Running, names: Sequence[str]) -> tuple[Answered, ...]:
    """The rules of these names, answered. Each measure's evidence is drawn once."""
    lines = {
        name: Line(name, measure.does, measure.see, measure.evidence(running)) for name, measure in MEASURES.items()
    }
    return tuple(
        Answered(
            name,
            RULES[name].title,
            RULES[name].text,
            RULES[name].left_out,
            tuple(Clause(each, tuple(lines[used] for used in each.measures)) for each in RULES[name].controls),
        )
        for name in names
    )


def page(running: Running, rules: Sequence[Answered]) -> str:
    """The matrix as one HTML page without scripts, which prints well."""
    title = f"Controls of {running.site.origin}"
    return pipeline.render_page(
        _TEMPLATE,
        title=title,
        foot=title,
        rules=rules,
        running=running,
        standings=list(Standing),
        reading=READ_BY_AN_ENGINEER,
        made=f"{running.now:%Y-%m-%d %H:%M} UTC",
    )
