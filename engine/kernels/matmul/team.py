"""Threads that compute one thing together: they wait for each other, and claim parts of the work as they get to them.

Each thread of a team calls the same compiled function with its number. Between two phases stands a `barrier`: what was
written before it is seen after it. Within a phase parts are claimed by slots; a barrier puts all of them back to zero.
"""

from typing import NamedTuple

import numpy as np

from engine.simd import I64, Integer, atomic_add, atomic_load, atomic_store, give_way, pause
from engine.simd.compiled import kernel

SLOTS = 16
"""Counters of claims: so many products may stand between two barriers."""
_LINE = 8  # int64 of a cache line: each counter has its own
_ARRIVED, _PHASE, _CLAIMS = 0, _LINE, 2 * _LINE
_PATIENCE = 2000  # rounds of waiting, some ten microseconds, before others get the processor


class Team(NamedTuple):
    """A thread of a team: the counters of all, its number, and how many threads there are."""

    counters: I64
    thread: Integer
    threads: Integer


def new_team() -> I64:
    """The counters of a team at its start."""
    return np.zeros(_CLAIMS + SLOTS * _LINE, np.int64)


@kernel
def barrier(team: Team) -> None:
    """Wait until all threads of the team are here."""
    counters = team.counters
    phase = atomic_load(counters, _PHASE)
    if atomic_add(counters, _ARRIVED, 1) == team.threads - 1:
        for slot in range(SLOTS):
            atomic_store(counters, _CLAIMS + slot * _LINE, 0)
        atomic_store(counters, _ARRIVED, 0)
        atomic_store(counters, _PHASE, phase + 1)
        return
    rounds = 0
    while atomic_load(counters, _PHASE) == phase:
        rounds += 1
        if rounds < _PATIENCE:
            pause()
        else:
            give_way()


@kernel
def share(team: Team, count: int) -> tuple[int, int]:
    """The rows first..end of so many that are this thread's."""
    return count * team.thread // team.threads, count * (team.thread + 1) // team.threads


@kernel
def claim(team: Team, slot: int, count: int) -> int:
    """The first of the next `count` parts of the work of this slot; they are this thread's."""
    first: int = atomic_add(team.counters, _CLAIMS + slot * _LINE, count)
    return first
