"""A control is one clause of a rule; a measure is what the product does about it, with evidence from this site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NamedTuple

import pipeline
from jobs.load import LoadedJob
from jobs.workspace import Workspace


class Standing(Enum):
    """How far a measure holds on this site, and what that means."""

    IN_FORCE = "in force", "it holds here, as the evidence shows"
    AVAILABLE = "available", "people use it here when they need it"
    IN_PART = "in part", "it holds for a part only, or was done too long ago"
    NOT_IN_FORCE = "not in force", "it does not hold here"
    meaning: str

    def __new__(cls, words: str, meaning: str) -> Standing:
        """The words are the value; the meaning stands beside it."""
        made = object.__new__(cls)
        made._value_ = words
        made.meaning = meaning
        return made


class Evidence(NamedTuple):
    """How far a measure holds, and the fact that shows it."""

    standing: Standing
    words: str


@dataclass(frozen=True)
class Running:
    """What the evidence is drawn from: the files of a workspace as they are `now`, and its log, counted. `broken`: the
    job files that cannot be read; `people`: who may use the console, with the roles of each, None where this user may
    not read that."""

    workspace: Workspace
    site: pipeline.Site
    jobs: tuple[LoadedJob, ...]
    broken: tuple[str, ...]
    people: dict[str, tuple[str, ...]] | None
    log: pipeline.Tally
    now: datetime

    def counted(self, kind: str) -> int:
        """How many entries of this type the log has."""
        return self.log.counts[kind]

    def day(self, kind: str) -> str | None:
        """The day (UTC) of the last entry of this type; None if there is none."""
        last = self.log.last.get(kind)
        return str(last["time"])[:10] if last else None


class Measure(NamedTuple):
    """What the product `does`, the command or page that shows it (`see`), and how this site's evidence is found."""

    does: str
    see: str
    evidence: Callable[[Running], Evidence]


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
