"""What is asked of what was measured: a bound, an aim, and whether they are reached."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

R = TypeVar("R")


class Worst(NamedTuple):
    """The value that counts, and where it was."""

    value: float
    where: str


@dataclass(frozen=True)
class Must(Generic[R]):
    """A bound, what is aimed at (None: no more than that), and how to find what they bound in results; `least`: whether
    the value must not be less, or not more. `isas`: instruction sets on which it can be measured; empty: all."""

    what: str
    bound: float | None
    aim: float | None
    unit: str
    find: Callable[[R], Worst | None]
    least: bool = True
    isas: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """A must, and what was found; None if it was not measured, `isa`: with this instruction set."""

    must: Must[Any]
    found: Worst | None
    isa: str = ""

    @property
    def word(self) -> str:
        """`aim`, `pass`, `miss`, `below the aim` where nothing must be, `not measured`, `needs` an instruction set."""
        if self.must.isas and self.isa not in self.must.isas:
            return f"needs {' or '.join(self.must.isas)}"
        if self.found is None:
            return "not measured"
        if self._reaches(self.must.aim):
            return "aim"
        if self.must.bound is None:
            return "below the aim"
        return "pass" if self._reaches(self.must.bound) else "miss"

    def _reaches(self, bound: float | None) -> bool:
        if bound is None or self.found is None:
            return False
        return self.found.value >= bound if self.must.least else self.found.value <= bound


def verdicts(musts: Sequence[Must[R]], results: R, isa: str = "") -> list[Verdict]:
    """Every must in order; with what was found only where it can be measured."""
    return [Verdict(must, must.find(results) if not must.isas or isa in must.isas else None, isa) for must in musts]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def to_table(found: Sequence[Verdict], number: Callable[[float, str], str]) -> str:
    """The verdicts; `number` writes a value in a unit."""
    head = ("must", "", "aim", "measured", "where", "verdict")
    return table(head, [_row(verdict, number) for verdict in found])


def _row(verdict: Verdict, number: Callable[[float, str], str]) -> tuple[str, ...]:
    must, found = verdict.must, verdict.found
    sign = "≥" if must.least else "≤"
    bounds = [f"{sign} {number(each, must.unit)}" if each is not None else "" for each in (must.bound, must.aim)]
    measured, where = (number(found.value, must.unit), found.where) if found else ("-", "")
    return must.what, *bounds, measured, where, verdict.word
