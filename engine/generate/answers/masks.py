"""Bit masks of the tokens that may be next in each of many answers."""

from collections.abc import Sequence as Many

import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.generate.answers.jobs import Writing
from engine.generate.constraint.spec import Makes

U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]

_NONE = np.zeros((0, 1), np.uint32)
_MANY = 4  # masks from which threads are worth their start


def masks_of(jobs: Many[Writing], makes: Makes) -> tuple[U32, I64]:
    """uint32 [m, words], and for each job the number of its row, -1 where everything is allowed. A job whose constraint
    gives up has failed, and its row is another's."""
    held = [job for job in jobs if job.constraint is not None]
    of = np.full(len(jobs), -1, np.int64)
    of[[job.constraint is not None for job in jobs]] = np.arange(len(held))
    if not held:
        return _NONE, of
    if len(held) >= _MANY:
        try:
            return makes.masks([job.constraint for job in held]), of
        except EngineError:  # of one of them: which one?
            pass
    return _one_by_one(held), of


def _one_by_one(jobs: list[Writing]) -> U32:
    found: list[U32 | None] = []
    for job in jobs:
        try:
            found.append(job.constraint.mask() if job.constraint else None)
        except EngineError as error:
            job.fail(str(error))
            found.append(None)
    some = next((mask for mask in found if mask is not None), np.zeros(1, np.uint32))
    return np.stack([np.zeros_like(some) if mask is None else mask for mask in found])
