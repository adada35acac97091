"""The contract of pages: what a page module declares, and what the navigation shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.responses import Response

from jobs.console.house import Visit
from jobs.console.rights import Right

Answer = TypeVar("Answer", bound=Callable[[Visit], Response])


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


PAGES: Final[list[Page]] = []
"""All pages, in the order in which their modules are imported."""


def page(path: str, right: Right | None, method: str = "GET", asks: tuple[str, ...] = ()) -> Callable[[Answer], Answer]:
    """Make a function the answer of a page."""

    def listed(answer: Answer) -> Answer:
        PAGES.append(Page(path, answer, right, method, asks))
        return answer

    return listed


NAVIGATION: Final = (
    ("/", "Tonight", Right.LISTS),
    ("/queue", "Queue", Right.LISTS),
    ("/runs", "Runs", Right.LISTS),
    ("/models", "Models", Right.LISTS),
    ("/log", "Log", Right.LOG),
)
"""The links of the navigation: path, name, and the right of those to whom it is shown."""
