"""How kernels are compiled: without the GIL, and without counting references to arrays.

Numba counts them with atomic operations wherever an array is passed on, which costs ten times as much as a register of
arithmetic. A kernel owns nothing: arrays are its caller's, and it makes none.
"""

from typing import Any

from numba import njit

kernel: Any = njit(nogil=True, _nrt=False)  # type: ignore[call-overload]
"""For kernels that others call."""
entry: Any = njit(nogil=True, _nrt=False, cache=True)  # type: ignore[call-overload]
"""For what Python calls: it is kept on disk."""
