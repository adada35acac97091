"""The matrix of controls: each clause of a rule of law with what the product does about it, and this site's evidence.

controls.json has the rules and the measures. A new rule is an entry there, and a new measure also one of measures.py.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pipeline
from jobs.config.load import LoadedJob, shown
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace, load_job_of
from jobs.console.access.people import People
from jobs.errors import ConfigError
from jobs.trust.finding import Evidence, Standing
from jobs.trust.measures import EVIDENCE, Running

READ_BY_AN_ENGINEER = (
    "This is an engineer's reading of the rules, not legal advice. It says what the program does and what this site's "
    "files and log show; whether that is enough is for the site to decide."
)
_TEMPLATE = Path(__file__).with_name("controls.html")
_LAW = Path(__file__).with_name("controls.json")


class Measure(NamedTuple):
    """What the product `does`, and the command or page that shows it (`see`)."""

    does: str
    see: str


class Control(NamedTuple):
    """One clause: its number, what it asks in our words, the names of the measures that answer it, and what is left to
    the site, for no program can do it."""

    clause: str
    asks: str
    measures: tuple[str, ...]
    site: str


class Rule(NamedTuple):
    """A law or standard, the text that was read for it, which of it is left out here, and those of its clauses that
    concern records."""

    title: str
    text: str
    left_out: str
    controls: tuple[Control, ...]


def _rule(said: dict[str, Any]) -> Rule:
    controls = tuple(Control(**{**each, "measures": tuple(each["measures"])}) for each in said["controls"])
    return Rule(**{**said, "controls": controls})


_SAID = json.loads(_LAW.read_bytes())
RULES: Mapping[str, Rule] = {name: _rule(said) for name, said in _SAID["rules"].items()}
"""The rules, by the name that the command line has for them."""
MEASURES: Mapping[str, Measure] = {name: Measure(**said) for name, said in _SAID["measures"].items()}
"""What the product does, by the name under which the rules refer to it."""


class Line(NamedTuple):
    """One measure of a clause by its name, and this site's evidence."""

    name: str
    measure: Measure
    found: Evidence


class Clause(NamedTuple):
    """A clause and the measures that answer it."""

    control: Control
    lines: tuple[Line, ...]


class Answered(NamedTuple):
    """A rule by its `name` on the command line, with all its clauses answered."""

    name: str
    rule: Rule
    clauses: tuple[Clause, ...]

    @property
    def counts(self) -> Counter[Standing]:
        """How many different measures of the rule stand how."""
        return Counter({line.name: line.found.state for clause in self.clauses for line in clause.lines}.values())


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
    people, tally = _people(workspace), pipeline.records.tally(site)
    return Running(workspace, site, tuple(jobs), tuple(broken), people, tally, datetime.now(UTC))


def _people(workspace: Workspace) -> dict[str, tuple[str, ...]] | None:
    """Who may use the console, with the roles of each; None where this user may not look into keys/, as an auditor."""
    keys = workspace.root / "keys"
    if keys.is_dir() and not os.access(keys, os.R_OK | os.X_OK, effective_ids=True):
        return None
    invited = {person.name: tuple(person.roles) for person in People(keys).all().values()}
    return {**workspace.site.console.people, **invited}


def matrix(running: Running, names: Sequence[str]) -> tuple[Answered, ...]:
    """The rules of these names, answered. Each measure's evidence is drawn once."""
    lines = {name: Line(name, measure, EVIDENCE[name](running)) for name, measure in MEASURES.items()}
    answered = []
    for name in names:
        clauses = [Clause(each, tuple(lines[used] for used in each.measures)) for each in RULES[name].controls]
        answered.append(Answered(name, RULES[name], tuple(clauses)))
    return tuple(answered)


def page(running: Running, rules: Sequence[Answered]) -> str:
    """The matrix as one HTML page without scripts, which prints well."""
    title = f"Controls of {running.site.origin}"
    return pipeline.pages.render_page(
        _TEMPLATE,
        title=title,
        foot=title,
        rules=rules,
        running=running,
        standings=list(Standing),
        reading=READ_BY_AN_ENGINEER,
        made=f"{running.now:%Y-%m-%d %H:%M} UTC",
    )
