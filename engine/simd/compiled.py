"""How kernels are compiled: without the GIL, and without counting references to arrays.

Numba counts them with atomic operations wherever an array is passed on, which costs ten times as much as a register of
arithmetic. A kernel owns nothing: arrays are its caller's, and it makes none.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba import _dynfunc, njit  # type: ignore[attr-defined]
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.cpu import CPUContext
from numba.core.dispatcher import Dispatcher

from engine.compiling import FOLDER, LASTING, stamp
from engine.cpu import isa

_PACKAGE = Path(__file__).parent.parent


class _Place(UserProvidedCacheLocator):
    """Where numba keeps a function of this package: by its place in the package, so that a second installation of the
    same code finds what the first one compiled."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        super().__init__(function, file)
        if (path := Path(file)).is_relative_to(_PACKAGE):
            self._cache_path = str(FOLDER / path.relative_to(_PACKAGE).parent)

    def get_source_stamp(self) -> str:
        """The digest of all that it may be made of: numba's own stamp knows the function's file alone."""
        return stamp(Path(self._py_file))


class _Kept(FunctionCache):
    """numba's cache, in that place."""

    class _impl_class(CompileResultCacheImpl):  # noqa: N801  # numba's name for it
        _locator_classes: list[Any] = [_Place]  # noqa: RUF012


class _KeptAlone(_Kept):
    """The same but for the fifth of a second in which it sets up all that compiles, and what makes arrays, before it
    looks for what is kept. Machine code that is there needs none of it, and what is compiled after all sets it up
    itself."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return self._load_overload(sig, target_context)


class _Library(JITCodeLibrary):
    """numba's unit of code, which becomes machine code when an address in it is asked for.

    A kernel that others call is linked into them as LLVM's intermediate code. Machine code of its own, which numba
    makes of every function as soon as it is optimised, would take a third of all compiling and never run.
    """

    _is_added = False
    _compiled_object = None  # unless it came from the cache

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function, 0 if this library does not have it."""
        self._ensure_finalized()
        if not self._is_added and any(
            one.name == name and not one.is_declaration for one in self._final_module.functions
        ):
            self._make_code()
        return int(super().get_pointer_to_function(name))

    def _finalize_specific(self) -> None:
        if self._compiled_object is not None:
            self._make_code()

    def _make_code(self) -> None:
        self._is_added = True
        self._codegen._engine.add_module(self._final_module)
        super()._finalize_specific()


_with_wrapper = CPUContext.get_executable
_REFUSES = ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value
"""The address of C code that raises TypeError and returns no object."""


def _executable(self: Any, library: Any, fndesc: Any, env: Any) -> Any:
    """Give Python a function object for compiled code (numba's CPUContext.get_executable, which takes a wrapper for
    Python for granted)."""
    if library.get_pointer_to_function(fndesc.llvm_cpython_wrapper_name):
        return _with_wrapper(self, library, fndesc, env)
    name = fndesc.qualname.rpartition(".")[2]
    return _dynfunc.make_function(fndesc.lookup_module(), name, "for compiled code", _REFUSES, env, (library,))


CPUContext.get_executable = _executable  # type: ignore[method-assign]
JITCPUCodegen._library_class, JITCPUCodegen._add_module = _Library, lambda self, module: None  # type: ignore


def entry(function: Callable[..., Any]) -> Any:
    """Compile what Python calls; it is kept on disk."""
    return _kept(function, _KeptAlone, _nrt=False)


def owner(function: Callable[..., Any]) -> Any:
    """The same for what makes arrays of its own."""
    return _kept(function, _Kept)


def _kept(function: Callable[..., Any], cache: type[_Kept], **options: bool) -> Any:
    compiled: Any = njit(nogil=True, cache=True, **options)(function)  # type: ignore[call-overload]
    if isinstance(compiled, Dispatcher):  # without the compiler it is the function itself
        compiled._cache = cache(function)  # type: ignore[attr-defined]
    return compiled


_FOR_KERNELS = {"nogil": True, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
kernel: Any = njit(**_FOR_KERNELS)  # type: ignore[call-overload]
"""For kernels that others call. Python cannot: wrap `KERNEL.py_func` in `entry` for that."""
inlined: Any = njit(**_FOR_KERNELS, forceinline=True)  # type: ignore[call-overload]
"""For a kernel that one place calls once a tile. Each array of its named tuples is seven arguments of a call, which
would cost some percent of the tile's time; in its caller they cost nothing."""


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
