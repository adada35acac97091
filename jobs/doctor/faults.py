"""Mistakes in YAML as findings."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.doctor.base import Finding, problem
from jobs.errors import ConfigError
from jobs.visible import one_line


def of_problems(error: ConfigError) -> Iterator[Finding]:
    """Make a finding of each mistake, with its file, line and column."""
    for each in error.problems:
        place = ":".join(str(part) for part in (each.where, each.line, each.column) if part is not None)
        expected = f"; expected {each.expected}" if each.expected else ""
        remedy = each.remedy or "correct it there; configs/README.md has every key"
        yield problem(one_line(f"{place}: {each.found}{expected}."), one_line(remedy))
