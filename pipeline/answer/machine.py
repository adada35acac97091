"""What a machine gives: instruction sets, CPUs, memory, kernels; and the models of later jobs, made ready beside."""

import ctypes
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import engine
from pipeline.errors import ModelRefusedError
from pipeline.plan import RunPlan

Machine = engine.Machine


def look_at_machine(root: Path = Path("/")) -> Machine:
    """Look at this machine; the files of the kernel are read below `root`. OSError."""
    return engine.look_at_machine(root)


def kernels_of(model: Path) -> tuple[str, bool]:
    """The name of the kernels that a model file is computed with, and whether they are compiled for this machine and
    version. ModelRefusedError and OSError."""
    try:
        return engine.kernels_of(model)
    except engine.EngineError as error:
        raise ModelRefusedError(str(error)) from error


_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of <malloc.h>
_LARGE = 1 << 20  # bytes: texts of books and arrays of batches, which are few
_ARENAS = 2


def give_back_freed() -> None:
    """Bind glibc's malloc for the rest of this process; may be called again. Other C libraries have nothing to bind.

    By itself it keeps what is freed: each thread has an arena, and the largest buffer seen decides up to which size
    they are filled from and how much free space stays on top. So memory grows with every large document that meets
    another arena. Here large buffers are mappings of their own, which end with their use, and arenas are few and short.
    Source: mallopt(3), `M_MMAP_THRESHOLD` (dynamic adjustment ends once any of them is set).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _LARGE), (_ARENA_MAX, _ARENAS)):
            mallopt(parameter, value)


_LOOK_SECONDS = 0.1


class Warming:
    """The processes that make the models of later jobs ready. Use it as a context manager: none outlives it.

    Compiling the kernels of one kind of model keeps one CPU busy. While the first job's are compiled and answer, those
    of the other jobs are compiled in processes of their own.
    """

    def __init__(self, plans: Sequence[RunPlan]) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        first, *others = [_kernels(plan) for plan in plans] or [None]
        if engine.threads() == 1:  # they would only take turns
            return
        for plan, name in zip(plans[1:], others, strict=True):
            if name and name not in (first, *self._processes):
                command = [sys.executable, "-P", "-m", "engine", str(plan.model.path)]
                self._processes[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> "Warming":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait()

    def wait_for(self, plan: RunPlan, note: Callable[[str], None], stop: Callable[[], bool]) -> None:
        """Wait until the model of a plan is ready, if it is being made so, or until `stop()` becomes true."""
        name = _kernels(plan) if self._processes else None
        process = self._processes.get(name or "")
        if process is None or process.poll() is not None:
            return
        note(
            f"compiling kernels for {engine.isa()}, once per machine: they are being compiled since the first job began"
        )
        while process.poll() is None and not stop():
            time.sleep(_LOOK_SECONDS)


def _kernels(plan: RunPlan) -> str | None:
    """The name of the kernels that a plan's model still needs compiled; None for none, or no such model."""
    try:
        name, compiled = engine.kernels_of(plan.model.path)
    except (engine.EngineError, OSError):
        return None  # whoever loads it tells what is wrong
    return None if compiled else name
