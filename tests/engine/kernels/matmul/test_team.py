"""Threads that wait for each other and claim work."""

import threading
from typing import Any

import numpy as np
import pytest

from engine.kernels.matmul.team import SLOTS, Team, barrier, claim, new_team
from engine.simd import atomic_add
from engine.simd.compiled import entry


@entry
def work(counters: Any, threads: int, rounds: int, parts: Any, seen: Any, wrong: Any) -> None:
    """Rounds of claiming all parts in each of two slots; after a barrier everyone has."""
    team = Team(counters, 0, threads)
    for i in range(rounds):
        for slot in (0, SLOTS - 1):
            while True:
                first = claim(team, slot, 3)
                if first >= parts.size:
                    break
                for part in range(first, min(first + 3, parts.size)):
                    atomic_add(parts, part, 1)
        barrier(team)
        for part in range(parts.size):
            if parts[part] != 2 * (i + 1):
                atomic_add(wrong, 0, 1)
        barrier(team)
    atomic_add(seen, 0, 1)


@pytest.mark.parametrize("threads", [1, 2, 4, 9])
def test_every_part_is_claimed_once_and_barriers_hold(threads: int) -> None:
    team, parts, seen, wrong = new_team(), np.zeros(50, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    others = [threading.Thread(target=work, args=(team, threads, 20, parts, seen, wrong)) for _ in range(threads)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert (parts == 40).all()
    assert (seen[0], wrong[0]) == (threads, 0)
