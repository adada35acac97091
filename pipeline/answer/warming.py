"""Models of several jobs are made ready side by side.

Compiling the kernels of one kind of model keeps one CPU busy. While the first job's are compiled and answer, those of
the other jobs are compiled in processes of their own.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import engine
from pipeline.plan import RunPlan

_LOOK_SECONDS = 0.1


class Warming:
    """The processes that make the models of later jobs ready. Use it as a context manager: none outlives it."""

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
