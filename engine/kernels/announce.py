"""Compiling takes from ten seconds to minutes: it is told when it begins and how far it is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event

from engine.compiling import LASTING
from engine.cpu import isa

_STEPS = 4  # lines between the first and the last function


@contextmanager
def announced(functions: int, progress: Callable[[str], None]) -> Iterator[None]:
    """Tell `progress` one line when compiling begins, and one at each quarter of about so many `functions`."""
    again = "once per machine" if LASTING else "at each start, for the cache folder cannot be written"
    progress(f"compiling kernels for {isa()}, {again}")
    with event.install_listener("numba:compile", _Counting(functions, progress)):
        yield


class _Counting(event.Listener):
    """Counts the functions that numba has compiled; one of them may be compiled while another one is."""

    def __init__(self, functions: int, progress: Callable[[str], None]) -> None:
        self._functions = functions
        self._progress = progress
        self._done = 0

    def on_start(self, event: object) -> None:
        """Nothing is told before there is something done."""

    def on_end(self, event: object) -> None:
        before, self._done = self._done, self._done + 1
        step, last = _STEPS * self._done // self._functions, _STEPS * before // self._functions
        if last < step < _STEPS:
            self._progress(f"compiling kernels: about {100 * step // _STEPS} % done")
