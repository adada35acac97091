"""The contract of pages: what a page module declares, and what the navigation shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.responses import Response

from jobs.console.house import Visit
from jobs.console.rights import Right


class _Number(IntegerConvertor):
    """A number in an address, which fits every index; what is longer is the address of nothing."""

    regex = "[0-9]{1,15}"


register_url_convertor("int", _Number())


@dataclass(frozen=True)
class Page:
    """A page, or an action (`method` POST): its path, as Starlette writes paths; what answers it, in a thread of its
    own; and the right that it takes. `right` None: also people who are not signed in get it. `asks`: the names behind
    the question mark of an address that it reads; it gets no others."""

    path: str
    answer: Callable[[Visit], Response]
    right: Right | None
    method: str = "GET"
    asks: tuple[str, ...] = ()


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
