"""Tamper with a small real workspace without the key, again and again: `audit verify` has to find and name it.

    python -m tests.faults.tamper [--count 10000] [--seed 20261122] [--only NUMBER]

What FORMAT.md says is not detected (the workspace as it once was; what an interrupted commit leaves) is counted apart:
a roll-back has to be found with a kept checkpoint, and what looks torn has to be told in a note.
"""

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import audit
import pipeline
from pipeline.proof.verify import Verification
from tests.faults.tampering import KINDS, Tampering, draw
from tests.faults.victim import Victim, make_victim

NAMED, NOTED, KEPT = "named", "a note", "with a kept checkpoint"
MISSED, MISNAMED, KEPT_MISSED = "MISSED", "MISNAMED", "MISSED WITH A KEPT CHECKPOINT"
GOOD = (NAMED, NOTED, KEPT)


def judge(victim: Victim, tampering: Tampering) -> tuple[str, str]:
    """How a tampering that was done is found, and what was said."""
    report = pipeline.verify(victim.site, processes=1)
    said = list(chain(report.integrity, report.altered, report.added, report.absent))
    told = "; ".join(f"{finding.where}: {finding.message}" for finding in said[:4])
    if said and tampering.named:
        return (NAMED if _names(said, tampering) else MISNAMED), told
    if said:
        return NAMED, told
    if not tampering.apart:
        return MISSED, str(report.notes)
    kept = pipeline.verify(victim.site, against=victim.kept, processes=1)
    if any(finding.where == "kept checkpoint" for finding in kept.integrity):
        return KEPT, kept.integrity[0].message
    return (NOTED if _is_noted(report, tampering) else KEPT_MISSED), str(report.notes)


def _names(said: list[audit.Finding], tampering: Tampering) -> bool:
    where = {finding.where for finding in said}
    return all(names & where for names in tampering.named)


def _is_noted(report: Verification, tampering: Tampering) -> bool:
    files = [name.removeprefix("audit/") for name in tampering.change]
    return all(any(note.startswith((file, file.partition("/")[0])) for note in report.notes) for file in files)


@contextmanager
def done(root: Path, tampering: Tampering) -> Iterator[None]:
    """The files changed; afterwards they are as before."""
    before = {name: (root / name).read_bytes() if (root / name).is_file() else None for name in tampering.change}
    folders = {path for name in tampering.change for path in (root / name).parents if not path.exists()}
    try:
        _write(root, tampering.change.items())
        yield
    finally:
        _write(root, before.items())
        for folder in sorted(folders, reverse=True):
            folder.rmdir()


def _write(root: Path, files: Iterable[tuple[str, bytes | None]]) -> None:
    for name, body in files:
        if body is None:
            (root / name).unlink()
        else:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(body)


def tamper(victim: Victim, seed: int, numbers: Iterable[int]) -> Iterator[tuple[int, str, str, str]]:
    """(number, kind, how it was found, what was said) of each."""
    for number in numbers:
        kind, tampering = draw(victim, seed, number)
        with done(victim.site.root, tampering):
            how, told = judge(victim, tampering)
        if how not in GOOD:
            told = f"{tampering.named} {sorted(tampering.change)[:4]} -> {told}"
        yield number, kind, how, told


def _work(task: tuple[Victim, Path, int, range]) -> list[tuple[int, str, str, str]]:
    victim, folder, seed, numbers = task
    mine = victim.moved(folder / str(numbers.start))
    try:
        return list(tamper(mine, seed, numbers))
    finally:
        shutil.rmtree(mine.site.root)


def main() -> None:
    """Tamper, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--only", type=int, help="this tampering alone")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    asked = parser.parse_args()
    numbers = range(asked.count) if asked.only is None else range(asked.only, asked.only + 1)
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    begun, counts, bad = time.monotonic(), defaultdict[str, Counter[str]](Counter), 0
    with tempfile.TemporaryDirectory(prefix="tamper-", dir=shared) as place:
        victim = make_victim(Path(place))
        tasks = [(victim, Path(place), asked.seed, numbers[at : at + 50]) for at in range(0, len(numbers), 50)]
        with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
            for number, kind, how, told in chain.from_iterable(pool.imap(_work, tasks)):
                counts[kind][how] += 1
                if how not in GOOD or asked.only is not None:
                    bad += how not in GOOD
                    print(f"{number}: {kind}: {how}: {told}", flush=True)
    _print(counts, time.monotonic() - begun)
    sys.exit(1 if bad else 0)


def _print(counts: dict[str, Counter[str]], seconds: float) -> None:
    total = sum(counts.values(), Counter[str]())
    for kind in [kind for kind in KINDS if kind in counts]:
        print(f"{counts[kind].total():>6} {kind:<50} " + ", ".join(f"{n} {how}" for how, n in counts[kind].items()))
    print(f"{total.total():>6} in {seconds:.0f} s: " + ", ".join(f"{n} {how}" for how, n in total.items()))


if __name__ == "__main__":
    main()
