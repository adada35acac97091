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

from engine.gguf import BLOCKS, read
from tests.benchmarks.lm import accuracy, binding, contenders, files, night, programs
from tests.benchmarks.lm.contenders import PROGRAMS, SERVER, started
from tests.benchmarks.lm.musts import FIRST_TOKEN
from tests.benchmarks.lm.night import Night
from tests.benchmarks.lm.plan import Plan
from tests.benchmarks.lm.results import OURS, File, Point, Results
from tests.benchmarks.lm.server import served
from tests.benchmarks.lm.shapes import LARGE, SHAPES
from tests.benchmarks.process import ROOT

Say = Callable[[str], None]
FIRST = """
import sys, time, engine, numpy as np
model = engine.load_decoder(sys.argv[1])
list(model.generate([engine.Request(np.arange(8, dtype=np.int32), 1)]))
print(time.monotonic())
"""


def measure(plan: Plan, say: Say) -> Results:
    """All rows of the plan."""
    results = Results(isa=plan.isa, skipped=contenders.missing())
    for file in plan.files:
        path = files.model(*file, say)
        results.file_bytes[file], results.token_bytes[file] = path.stat().st_size, token_bytes(path)
        if {"single", "batched"} & {*plan.rows}:
            measure_speeds(plan, file, path, results, say)
        if "memory" in plan.rows:
            measure_memory(plan, file, path, results, say)
        if "accuracy" in plan.rows and file[0] != LARGE:
            measure_errors(plan, file, path, results, say)
    if "night" in plan.rows and plan.night:
        measure_night(plan, files.model(*plan.night_file, say), results, say)
    if "start" in plan.rows:
        measure_starts(plan, files.model(*FIRST_TOKEN, say), results, say)
    return results


def token_bytes(path: Path) -> int:
    """Bytes of the weights that one token needs: all, but for a table of embeddings that is no output."""
    file, total = read(path), 0
    for name, tensor in file.tensors.items():
        if name != "token_embd.weight" or "output.weight" not in file.tensors:
            block = BLOCKS[tensor.type]
            total += int(np.prod(tensor.shape)) // block.values * block.bytes
    return total


def measure_speeds(plan: Plan, file: File, path: Path, results: Results, say: Say) -> None:
    """Prompts and decoding, and what memory gives."""
    with started(path, plan, results.skipped) as everyone:
        for round_ in range(plan.rounds):
            for one in everyone:
                if "single" in plan.rows:
                    say(f"{path.stem}: {one.name}, round {round_ + 1}")
                    note(results, file, one.name, ("prompt", "decode"), one.single())
        for one in everyone:
            if one.name == OURS:
                results.bandwidth = max(results.bandwidth, one.ask(do="bandwidth") or 0.0)  # type: ignore[attr-defined]
        for round_ in range(plan.rounds if "batched" in plan.rows and file[0] != LARGE else 0):
            for one in everyone:
                say(f"{path.stem}: {one.name}, {plan.counts} sequences, round {round_ + 1}")
                note(results, file, one.name, [f"decode {n}" for n in plan.counts], one.batched(plan.counts))


def note(results: Results, file: File, name: str, wanted: Any, rates: contenders.Rates) -> None:
    """What a contender did in a round; None for what it did not answer."""
    for what in wanted:
        rounds = results.rates.setdefault(Point(what, *file), {}).setdefault(name, [])
        rounds.append(rates.get(what) if rates else None)


def measure_memory(plan: Plan, file: File, path: Path, results: Results, say: Say) -> None:
    """After a prompt and some tokens; a process before it puts into the cache what it may have to make."""
    say(f"{path.stem}: memory")
    found = results.memory.setdefault(file, {})
    for _ in range(2):
        one = contenders.ours(path, plan)
        try:
            if one.ready and (answer := one.ask(do="memory")):
                found[OURS] = answer["resident"], answer["kv"]
        finally:
            one.close()
    if not programs.missing("server"):
        with served(path, plan.threads, 1) as server:
            server.night([np.arange(512, dtype=np.int32)], forced=False)
            found[SERVER] = server.memory(), 0


def measure_errors(plan: Plan, file: File, path: Path, results: Results, say: Say) -> None:
    """Of one text of random tokens."""
    ids = np.random.default_rng(0).integers(SHAPES[file[0]].vocab, size=plan.positions).tolist()
    say(f"{path.stem}: logits, exactly")
    exact = accuracy.truth(path, ids)
    makers = [contenders.ours] + ([] if binding.missing() else [contenders.bound])
    for make in makers:
        one = make(path, plan)
        say(f"{path.stem}: logits, {one.name}")
        try:
            with tempfile.TemporaryDirectory() as folder:
                to = str(Path(folder) / "logits.npy")
                if one.ready and one.ask(do="logits", ids=ids, to=to):
                    compared = accuracy.compare(np.load(to), exact)
                    results.errors.setdefault(file, {})[one.name] = compared
        finally:
            one.close()


def measure_night(plan: Plan, path: Path, results: Results, say: Say) -> None:
    """Forced by the schema, and free; each program once, for it is long."""
    prompts = night.prompts(path, plan.night)
    for what, forced in (("night", True), ("night, free", False)):
        point = Point(what, *plan.night_file)
        found = results.nights.setdefault(point, {})
        say(f"{path.stem}: {what}, {plan.night} documents, {OURS}")
        if (own := _our_night(plan, path, prompts, forced)) is not None:
            found[OURS] = own
        else:
            results.skipped.append(f"{OURS}, {what}: it ended without an answer")
        if not programs.missing("server"):
            say(f"{path.stem}: {what}, {plan.night} documents, {SERVER}")
            with served(path, plan.threads, plan.slots) as server:
                found[SERVER] = server.night(prompts, forced)
        results.rates[point] = {name: [each.rate] for name, each in found.items()}


def _our_night(plan: Plan, path: Path, prompts: list[Any], forced: bool) -> Night | None:
    one = contenders.ours(path, plan)
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "prompts.npz"
            np.savez(file, *prompts)
            answer = one.ask(do="night", file=str(file), forced=forced) if one.ready else None
    finally:
        one.close()
    return Night(**answer) if answer else None


def measure_starts(plan: Plan, path: Path, results: Results, say: Say) -> None:
    """From the start of a process to the first token; the first start, which may compile, does not count."""
    say(f"{path.stem}: starts")
    environment = {"CLOISTER_THREADS": str(plan.threads), "CLOISTER_ISA": plan.isa}
    found = results.starts.setdefault(FIRST_TOKEN, {})
    for _ in range(plan.rounds + 1):
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", FIRST, str(path)], cwd=ROOT, text=True, capture_output=True,
            env=os.environ | environment,
        )  # fmt: skip
        if done.returncode:
            results.skipped.append(f"{OURS}, start: {done.stderr.strip().splitlines()[-1]}")
            return
        found.setdefault(OURS, []).append(float(done.stdout) - began)
    found[OURS] = found[OURS][1:]
    if not programs.missing("bench"):
        found[PROGRAMS] = [programs.Programs(path, plan.threads).first_token() for _ in range(plan.rounds)]
