"""The measuring: files one after another, contenders in turn within each round."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine.compiling import weights_folder
from engine.gguf import BLOCKS, read
from tests.benchmarks.lm import accuracy, binding, contenders, files, nights, programs
from tests.benchmarks.lm.accuracy import Errors
from tests.benchmarks.lm.contenders import PROGRAMS, SERVER, started
from tests.benchmarks.lm.journal import Journal
from tests.benchmarks.lm.musts import FIRST_TOKEN
from tests.benchmarks.lm.plan import Plan
from tests.benchmarks.lm.results import OURS, File, Point, Rates, Results
from tests.benchmarks.lm.server import served
from tests.benchmarks.lm.shapes import LARGE
from tests.benchmarks.process import ROOT

Say = Callable[[str], None]
FIRST = """
import sys, time, engine, numpy as np
model = engine.load_decoder(sys.argv[1])
list(model.generate([engine.Request(np.arange(8, dtype=np.int32), 1)]))
print(time.monotonic())
"""


def measure(plan: Plan, journal: Journal, say: Say) -> Results:
    """All rows of the plan; what the journal knows is not measured again."""
    results = Results(isa=plan.isa, skipped=contenders.missing())
    for file in plan.files if {"single", "batched", "memory", "accuracy"} & {*plan.rows} else ():
        path = files.model(*file, say)
        results.file_bytes[file], results.token_bytes[file] = path.stat().st_size, token_bytes(path)
        for threads in plan.threads if {"single", "batched"} & {*plan.rows} else ():
            measure_speeds(plan, threads, file, path, results, journal, say)
        if "memory" in plan.rows:
            measure_memory(plan, file, path, results, journal, say)
        if "accuracy" in plan.rows and file[0] != LARGE:
            measure_errors(plan, file, path, results, journal, say)
    for path in plan.real if "accuracy" in plan.rows else ():
        measure_errors(plan, (path.stem, ""), path, results, journal, say)
    if "start" in plan.rows:
        measure_starts(plan, files.model(*FIRST_TOKEN, say), results, journal, say)
    if plan.night and {"night", "free"} & {*plan.rows}:
        nights.measure(plan, files.model(*plan.night_file, say), results, journal, say)
    return results


def token_bytes(path: Path) -> int:
    """Bytes of the weights that one token needs: all, but for a table of embeddings that is no output."""
    file, total = read(path), 0
    for name, tensor in file.tensors.items():
        if name != "token_embd.weight" or "output.weight" not in file.tensors:
            block = BLOCKS[tensor.type]
            total += int(np.prod(tensor.shape)) // block.values * block.bytes
    return total


def measure_speeds(
    plan: Plan, threads: int, file: File, path: Path, results: Results, journal: Journal, say: Say
) -> None:
    """Prompts and decoding, and what memory gives."""
    asked: list[tuple[str, list[str], Callable[[Any], contenders.Rates]]] = []
    if "single" in plan.rows:
        asked.append(("single", ["prompt", "decode"], lambda one: one.single()))
    if "batched" in plan.rows and file[0] != LARGE:
        asked.append(("batched", [f"decode {n}" for n in plan.counts], lambda one: one.batched(plan.counts)))
    with started(file, path, plan, threads) as everyone:
        for row, wanted, do in asked:
            for round_ in range(plan.rounds):
                for one in everyone:
                    key = (row, *file, threads, one.name, round_, *wanted)
                    if not journal.knows(*key):
                        say(f"{path.stem}, {threads} threads: {row}, {one.name}, round {round_ + 1} of {plan.rounds}")
                    note(results, file, threads, one.name, wanted, journal.once(key, lambda one=one, do=do: do(one)))
        read_ = journal.once(("bandwidth", *file, threads), lambda: everyone[0].ask(do="bandwidth"))  # type: ignore[attr-defined]
        results.bandwidth[threads] = max(results.bandwidth.get(threads, 0.0), read_ or 0.0)


def note(results: Results, file: File, threads: int, name: str, wanted: list[str], rates: Any) -> None:
    """What a contender did in a round; None for what it did not answer."""
    for what in wanted:
        found: Rates = results.rates.setdefault(Point(what, *file, threads), {})
        found.setdefault(name, []).append(rates.get(what) if rates else None)


def measure_memory(plan: Plan, file: File, path: Path, results: Results, journal: Journal, say: Say) -> None:
    """While the file is loaded for the first time, and of another process after a prompt and some tokens."""
    found = results.memory.setdefault(file, {})

    def own() -> Any:
        say(f"{path.stem}: memory, {OURS}")
        forget(path)
        first = _ask_once(contenders.ours(path, plan, plan.most), do="load")
        again = _ask_once(contenders.ours(path, plan, plan.most), do="memory")
        return again | {f"first_{name}": value for name, value in first.items()} if first and again else None

    def server() -> Any:
        say(f"{path.stem}: memory, {SERVER}")
        with served(path, plan.most, 1) as server:
            server.night([np.arange(512, dtype=np.int32)], forced=False)
            return {"resident": server.memory()}

    if (answer := journal.once(("memory", *file, OURS), own)) is not None:
        found[OURS] = answer
    if not programs.missing("server"):
        found[SERVER] = journal.once(("memory", *file, SERVER), server)


def forget(path: Path) -> None:
    """The weights that are kept of this file."""
    folder = weights_folder()
    for kept in folder.glob(f"{read(path).sha256}-*") if folder else ():
        kept.unlink()


def _ask_once(one: contenders.Process, **request: Any) -> Any:
    try:
        return one.ask(**request)
    finally:
        one.close()


def measure_errors(plan: Plan, file: File, path: Path, results: Results, journal: Journal, say: Say) -> None:
    """Of one text: random tokens for random weights, English for a trained model."""
    makers = {OURS: lambda: contenders.ours(path, plan, plan.most)}
    if not binding.missing():
        makers[contenders.BINDING] = lambda: contenders.bound(path, plan.most)
    ids, exact = accuracy.text_ids(path, plan.positions), None
    for name, make in makers.items():
        key = ("accuracy", *file, len(ids), name)
        if exact is None and not journal.knows(*key):
            say(f"{path.stem}: logits, exactly")
            exact = accuracy.truth(path, ids)

        def compared(make: Any = make, name: str = name, exact: Any = exact) -> Any:
            say(f"{path.stem}: logits, {name}")
            with tempfile.TemporaryDirectory() as folder:
                to = str(Path(folder) / "logits.npy")
                return accuracy.compare(np.load(to), exact) if _ask_once(make(), do="logits", ids=ids, to=to) else None

        if (answer := journal.once(key, compared)) is not None:
            results.errors.setdefault(file, {})[name] = Errors(*answer)


def measure_starts(plan: Plan, path: Path, results: Results, journal: Journal, say: Say) -> None:
    """From the start of a process to the first token; the first start, which may compile, does not count. It
    leaves the bytecode that an installation has too, whatever the environment says of it."""
    environment = os.environ | {"CLOISTER_THREADS": str(plan.most), "CLOISTER_ISA": plan.isa}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def own() -> float:
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", FIRST, str(path)], cwd=ROOT, text=True, capture_output=True,
            env=environment,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        return float(done.stdout) - began

    def starts(name: str, start: Callable[[], float]) -> Any:
        say(f"{path.stem}: {plan.rounds + 1} starts of {name}")
        return [start() for _ in range(plan.rounds + 1)][1:]

    found = results.starts.setdefault(FIRST_TOKEN, {})
    found[OURS] = journal.once(("start", plan.rounds, OURS), lambda: starts(OURS, own))
    if not programs.missing("bench"):
        other = programs.Programs(path, plan.most)
        found[PROGRAMS] = journal.once(("start", plan.rounds, PROGRAMS), lambda: starts(PROGRAMS, other.first_token))
