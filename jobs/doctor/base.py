"""The contract of a check: what it is given, what it finds, and how its figures are held against those of before.

A check is a module with NEEDS, FIGURES and `examine`. It looks, and mends nothing. What it raises is one problem line,
so it need not catch what it does not expect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jobs.doctor.patient import Patient

Figure = str | int | float | bool | None | Sequence[str] | Mapping[str, str]
"""A value of JSON that a baseline keeps."""
Compared = Callable[[Figure, Figure], str | None]
"""What to say of a figure of before and that of now; None where nothing has changed that matters."""


Figures = Mapping[str, Compared]
"""The figures of a check that may change, each with how it is compared."""


class Level(StrEnum):
    """How good a finding is. A warning asks for a look, and a problem for a person."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Needs(Enum):
    """What has to be there for a check: the machine alone, the folder of a workspace, or what its site.yaml says."""

    MACHINE = "machine"
    FOLDER = "folder"
    SITE = "site"


@dataclass(frozen=True)
class Finding:
    """One line of what a check found: a whole sentence, and the remedy in plain words unless it is ok. `figures` are
    kept in a baseline. `stops`: until that is mended no run begins, or none is as it was asked for."""

    level: Level
    sentence: str
    remedy: str | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    stops: bool = False


class Check(Protocol):
    """A module that looks at one thing. `FIGURES` says of each figure that can change how it is compared."""

    NEEDS: Needs
    FIGURES: Figures

    def examine(self, patient: Patient) -> Iterator[Finding]:
        """Look, and tell what was found."""


def ok(sentence: str, **figures: Figure) -> Finding:
    """Make the finding that something is in order."""
    return Finding(Level.OK, sentence, None, figures)


def warning(sentence: str, remedy: str, **figures: Figure) -> Finding:
    """Make the finding of something that a person should look at some day."""
    return Finding(Level.WARNING, sentence, remedy, figures)


def problem(sentence: str, remedy: str, **figures: Figure) -> Finding:
    """Make the finding of something that needs a person now."""
    return Finding(Level.PROBLEM, sentence, remedy, figures)


def stop(sentence: str, remedy: str, **figures: Figure) -> Finding:
    """Make the finding of a problem because of which no run begins."""
    return Finding(Level.PROBLEM, sentence, remedy, figures, stops=True)


def found_or(found: Sequence[Finding], in_order: str, **figures: Figure) -> Iterator[Finding]:
    """Tell what was found, or the sentence that all is in order; the first finding has the figures."""
    first, *others = found or [ok(in_order)]
    yield replace(first, figures=figures)
    yield from others


def shown_bytes(size: float) -> str:
    """Bytes for people: `12 MiB`, `3.4 GiB`."""
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.0f} MiB"
