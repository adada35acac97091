"""How much is tried of what takes long: a part of it by `make test`, and all of it by `make torture`.

`make torture` sets CLOISTER_TESTS=all. The part is always the same one, so that a failure can be had again.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
ALL = os.environ.get("CLOISTER_TESTS") == "all"
"""Whether everything is tried."""


def part(cases: Sequence[T], one_in: int, first: int = 0) -> Sequence[T]:
    """One in so many of the cases, beginning with that number, or all of them where everything is tried."""
    return cases if ALL else cases[first % one_in :: one_in]
