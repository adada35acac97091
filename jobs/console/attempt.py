"""Requests that are refused, and parts of a page that may fail without taking the rest with them."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import audit
import pipeline
from jobs.console.indexes import BrokenIndexError
from jobs.errors import ConfigError

T = TypeVar("T")
OPERATORS: Final = (ConfigError, BrokenIndexError, pipeline.BadPartError, audit.AuditError, OSError, sqlite3.Error)
"""What is for the operator to mend, and said in one sentence."""


class RefusedError(Exception):
    """A request that is refused with a status and a sentence; `recorded`: what the log says of it, if anything."""

    def __init__(self, status: int, told: str, recorded: str | None = None) -> None:
        super().__init__(told)
        self.status, self.told, self.recorded = status, told, recorded


@dataclass(frozen=True)
class Attempted(Generic[T]):
    """Holds what was had, or the sentence that says why it could not be."""

    value: T | None
    why: str | None = None


def attempt(make: Callable[[], T]) -> Attempted[T]:
    """Make a part of a page. What is no fault of the workspace is raised."""
    try:
        return Attempted(make())
    except (*OPERATORS, LookupError) as error:
        return Attempted(None, told_of(error))


def told_of(error: Exception) -> str:
    """The sentence about what went wrong."""
    match error:
        case audit.AuditError():
            return f"The audit log: {error}"
        case OSError() if error.filename:
            return f"{error.filename}: {error.strerror}"
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
