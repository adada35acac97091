"""Runs on a disk that fails: at every write, sync and rename once, and then a run to the end on a whole disk.

    python -m tests.faults.disk                   each kind of fault at each position of a run over some documents
    python -m tests.faults.disk --every 50        at each 50th

A full disk (ENOSPC), one that reports an error (EIO), and short writes, which are no error. The run has to stop with an
exit code of the list and a message that names the reason, or to do without the call; nothing may be lost: the next run
ends as one that nobody disturbed. A line for each thing that does not hold; exit 1 if there is one.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jobs.cli import main as cloister
from tests.faults.ends import End, differences, end_of, faults_of
from tests.faults.inject import HUNG, WRITES, Fault, available, injected
from tests.faults.papers import papers
from tests.faults.workplace import JOB, Workplace, scratch

DOCUMENTS, PART = 10, 4
CLEAN = {0, 1, 2, 4}  # done, some documents failed, cannot be written, the log cannot be written
SAYS = {"ENOSPC": "No space left on device", "EIO": "Input/output error"}


@dataclass(frozen=True)
class Bench:
    """`base` is never run; `expected` is the end of a copy that nobody disturbed."""

    base: Workplace
    expected: End

    @staticmethod
    def make(folder: Path, documents: int = DOCUMENTS) -> "tuple[Bench, list[tuple[str, str]]]":
        """And the calls of a whole run, which are the positions."""
        base = Workplace.make(folder / "base", papers(documents), PART)
        place = base.copy(folder / "whole")
        run = injected(partial(_run, place, folder / "whole.err"), place.root, None)
        assert run.code == 1, (folder / "whole.err").read_text()
        assert not faults_of(place), faults_of(place)
        return Bench(base, end_of(place)), run.calls

    def attempt(self, fault: Fault, folder: Path) -> tuple[str, list[str]]:
        """One run with this fault, one without: (how the first ended, what is wrong)."""
        place, told = self.base.copy(folder / f"{fault.kind}-{fault.at}"), folder / f"{fault.kind}-{fault.at}.err"
        run = injected(partial(_run, place, told), place.root, fault)
        said, wrong = told.read_text(), []
        if run.code not in CLEAN:
            wrong.append(f"it hung: {said}" if run.code == HUNG else f"exit {run.code}: {said}")
        elif "Traceback" in said or (run.code > 1 and SAYS.get(fault.kind, "") not in said):
            wrong.append(f"exit {run.code} without the reason, or with a traceback: {said}")
        if fault.kind == "short" and run.code > 1:
            wrong.append(f"exit {run.code} after a short write: {said}")
        again = _forked(partial(_run, place, told))
        if again not in (0, 1):
            wrong.append(f"the next run: exit {again}: {told.read_text()}")
        else:
            wrong += [*faults_of(place), *differences(end_of(place), self.expected)]
        where = f"{fault.kind} at call {fault.at} ({' '.join(run.hit) if run.hit else 'not reached'})"
        if not wrong:
            shutil.rmtree(place.root)
            told.unlink()
        return f"{fault.kind}: exit {run.code}", [f"{where}: {each}" for each in wrong]


def _run(place: Workplace, told: Path) -> int:
    """The command in this process, which was made for it: its exit code."""
    out = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.argv = ["cloister", "run", JOB, "--workspace", str(place.root)]
    try:
        cloister()
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        return int(end.code or 0)
    return 98


def _forked(action: Callable[[], int]) -> int:
    child = os.fork()
    if child == 0:
        code = 97
        try:
            code = action()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def positions(calls: list[tuple[str, str]], every: int) -> list[Fault]:
    """Each call with ENOSPC and EIO, and the writes with short ones; shuffled, so that a few are of all kinds."""
    faults = [Fault(kind, at) for at, (name, _) in enumerate(calls) for kind in _kinds(name)]
    random.Random(0).shuffle(faults)
    return faults[::every]


def _kinds(name: str) -> tuple[str, ...]:
    return ("ENOSPC", "EIO", "short") if name in WRITES.values() else ("ENOSPC", "EIO")


def break_disk(folder: Path, every: int, workers: int) -> tuple[Counter[str], list[str]]:
    """How often runs ended how, and what is wrong."""
    os.environ |= {"CLOISTER_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    bench, calls = Bench.make(folder)
    faults = positions(calls, every)
    print(f"{len(calls)} calls, {len(faults)} faults", file=sys.stderr, flush=True)
    ended, wrong, began = Counter[str](), list[str](), time.monotonic()
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        for number, (how, bad) in enumerate(pool.map(partial(bench.attempt, folder=folder), faults), 1):
            ended[how] += 1
            wrong += bad
            if sys.stderr.isatty() or number % 50 == 0:
                told = f"{number:,} of {len(faults):,}, {len(wrong)} wrong, {time.monotonic() - began:.0f} s"
                print(f"\r{told}", end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)
    return ended, wrong


def main() -> None:
    """Break and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="of the faults, only each so-manieth")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    asked = parser.parse_args()
    if not available():
        sys.exit("not tried: this kernel gives no seccomp listener, by which calls are made to fail")
    folder, began = scratch("disk"), time.monotonic()
    ended, wrong = break_disk(folder, asked.every, asked.workers)
    print(f"{ended.total():,} faults, {time.monotonic() - began:.0f} s")
    for how, times in sorted(ended.items()):
        print(f"{times:7,}  {how}")
    for line in wrong:
        print(f"WRONG: {line}")
    if not wrong:
        shutil.rmtree(folder)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
