"""The contract of pages: what a page module declares, and what the navigation shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from jobs.console.house import Visit
from jobs.console.rights import Right


@dataclass(frozen=True)
class Page:
    """A page, or an action (`method` POST): its path, as Starlette writes paths; what answers it, in a thread of its
    own; and the right that it takes. `right` None: also people who are not signed in get it."""

    path: str
    answer: Callable[[Visit], Response]
    right: Right | None
    method: str = "GET"


@dataclass(frozen=True)
class Place:
    """A link of the navigation, shown to those who have its right."""

    path: str
    name: str
    right: Right


NAVIGATION: Final = (
    Place("/", "Tonight", Right.LISTS),
    Place("/queue", "Queue", Right.LISTS),
    Place("/runs", "Runs", Right.LISTS),
    Place("/models", "Models", Right.LISTS),
    Place("/log", "Log", Right.LOG),
)
