"""Kernels for tests to call: those of the product can be called by compiled code only."""

from functools import cache
from types import ModuleType
from typing import Any

from numba import njit
from numba.core.dispatcher import Dispatcher


@cache
def called(kernel: Any) -> Any:
    """The kernel, compiled so that Python can call it; without the compiler it is the function itself."""
    if not isinstance(kernel, Dispatcher):
        return kernel
    return njit(nogil=True, _nrt=False)(kernel.py_func)  # type: ignore[call-overload]


class Called:
    """A module of kernels, each of which Python can call."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return called(getattr(self._module, name))
