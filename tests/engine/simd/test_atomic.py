"""Counters that threads share."""

import threading
from typing import Any

import numpy as np

from engine.simd import atomic_add, atomic_load, atomic_store, give_way, pause
from engine.simd.compiled import kernel
from tests.engine.kernels.called import called


@called
@kernel
def count(counters: Any, times: int) -> None:
    for _ in range(times):
        atomic_add(counters, 1, 3)
        pause()
    give_way()


@called
@kernel
def exchange(counters: Any) -> Any:
    atomic_store(counters, 2, 9)
    before = atomic_add(counters, 2, -4)
    return before, atomic_load(counters, 2)


def test_nothing_that_threads_add_is_lost() -> None:
    counters = np.zeros(4, np.int64)
    threads = [threading.Thread(target=count, args=(counters, 5000)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counters.tolist() == [0, 4 * 3 * 5000, 0, 0]


def test_what_was_there_before_is_returned() -> None:
    counters = np.arange(4)
    assert exchange(counters) == (9, 5)
    assert counters.tolist() == [0, 1, 5, 3]
