"""How kernels are compiled: without the GIL, and without counting references to arrays.

Numba counts them with atomic operations wherever an array is passed on, which costs ten times as much as a register of
arithmetic. A kernel owns nothing: arrays are its caller's, and it makes none.
"""

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher


class _Kept(FunctionCache):
    """numba's own, but for the fifth of a second in which it sets up all that compiles before it looks for what is
    kept. Machine code that is there needs none of it, and what is compiled after all sets it up itself."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return self._load_overload(sig, target_context)


def entry(function: Callable[..., Any]) -> Any:
    """For what Python calls: it is kept on disk."""
    compiled: Any = njit(nogil=True, _nrt=False, cache=True)(function)  # type: ignore[call-overload]
    if isinstance(compiled, Dispatcher):  # without the compiler it is the function itself
        compiled._cache = _Kept(function)  # type: ignore[attr-defined]
    return compiled


kernel: Any = njit(nogil=True, _nrt=False)  # type: ignore[call-overload]
"""For kernels that others call."""
