"""The measuring of a night: documents in parts, each of which both programs get in turn."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import reduce
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.lm import contenders, night, programs
from tests.benchmarks.lm.contenders import SERVER
from tests.benchmarks.lm.journal import Journal
from tests.benchmarks.lm.night import Ids, Night
from tests.benchmarks.lm.plan import Plan
from tests.benchmarks.lm.results import OURS, Point, Results
from tests.benchmarks.lm.server import served

Say = Callable[[str], None]
Answer = Callable[[list[Ids]], dict[str, Any] | None]


def measure(plan: Plan, path: Path, results: Results, journal: Journal, say: Say) -> None:
    """Forced by the schema, and free. Loading and compiling are left out, and so is the first use of a grammar."""
    prompts = night.prompts(path, plan.night)
    for row, what in (("night", "night"), ("free", "night, free")):
        if row in plan.rows:
            _measure(plan, row, Point(what, *plan.night_file, plan.most), path, prompts, results, journal, say)


def _measure(
    plan: Plan, row: str, point: Point, path: Path, prompts: list[Ids], results: Results, journal: Journal, say: Say
) -> None:
    """Both stay loaded from part to part, so that what they know of the instruction stays too."""
    found: dict[str, list[Night]] = {}
    with ExitStack() as stack:
        everyone = _everyone(plan, row, path, stack)
        for first in range(0, len(prompts), plan.part):
            some = prompts[first : first + plan.part]
            for name, make in everyone.items():
                key = (row, *plan.night_file, plan.most, plan.slots, plan.night, plan.part, first, name)
                if not journal.knows(*key):
                    numbers = f"{first + 1} to {first + len(some)} of {plan.night}"
                    say(f"{path.stem}: {point.what}, {name}, documents {numbers}")
                if (done := journal.once(key, lambda make=make, some=some: make()(some))) is None:
                    results.skipped.append(f"{name}, {point.what}, from document {first + 1} on: it did not answer")
                    return
                found.setdefault(name, []).append(Night(**done))
                say(f"{path.stem}: {name}: {found[name][-1].rate:,.0f} documents an hour")
            results.nights[point] = {name: reduce(Night.__add__, parts) for name, parts in found.items()}
            results.rates[point] = {name: [part.rate for part in parts] for name, parts in found.items()}


def _everyone(plan: Plan, row: str, path: Path, stack: ExitStack) -> dict[str, Callable[[], Answer]]:
    """Each is started when it is needed, for a journal may know all of its parts."""
    started: dict[str, Answer] = {}

    def once(name: str, start: Callable[[], Answer]) -> Callable[[], Answer]:
        return lambda: started[name] if name in started else started.setdefault(name, start())

    found = {OURS: once(OURS, lambda: stack.enter_context(_ours(plan, row, path)))}
    if not programs.missing("server"):
        found[SERVER] = once(SERVER, lambda: stack.enter_context(_server(plan, row, path)))
    return found


@contextmanager
def _ours(plan: Plan, row: str, path: Path) -> Iterator[Answer]:
    one = contenders.ours(path, plan, plan.most)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prompts.npz"

        def answer(prompts: list[Ids]) -> dict[str, Any] | None:
            np.savez(file, *prompts)  # type: ignore[arg-type]
            found: dict[str, Any] | None = one.ask(do="night", file=str(file), forced=row == "night")
            return found

        try:
            yield answer
        finally:
            one.close()


@contextmanager
def _server(plan: Plan, row: str, path: Path) -> Iterator[Answer]:
    with served(path, plan.most, plan.slots) as server:

        def answer(prompts: list[Ids]) -> dict[str, Any] | None:
            try:
                return asdict(server.night(prompts, forced=row == "night"))
            except (OSError, HTTPException, RuntimeError):
                return None

        yield answer
