"""Things in a row, divided where one does not go on from those before it."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def runs(items: Iterable[T], goes_on: Callable[[list[T], T], bool]) -> list[list[T]]:
    """The items in runs: one joins the last run where `goes_on`(run, item), else it begins the next."""
    found: list[list[T]] = []
    for item in items:
        if found and goes_on(found[-1], item):
            found[-1].append(item)
        else:
            found.append([item])
    return found
