"""Runs killed at random moments, again and again, and then one to its end: it must be that of a run never killed.

    python -m tests.faults.torture --number 1000       SIGKILL at so many moments of runs over 300 documents

prints how far it is, what the runs after a kill had to repair, and a line for each difference; exit 1 if there is one.
The same --seed draws the same moments; --history I repeats one history alone. What differs is kept, and where.

A history is a workspace whose runs are killed and started until one comes to its end first. A moment is a time since
the run's first entry was committed, three in ten since the log was opened (both write its checkpoint anew), one in ten
since the process began.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import Path

from tests.faults.ends import End, differences, end_of, faults_of, log_of
from tests.faults.papers import papers
from tests.faults.workplace import Workplace, environment, scratch

SEED = 20261122
FINISHED = (0, 1)  # exit codes of a run that came to its end; 1: some documents failed
LEAST = 1.5  # seconds: shorter ones would never commit anything
MOST = 60  # kills in one history, before one of its runs may come to its end


@dataclass
class Torture:
    """`base` is never run; `expected` is the end of a copy that nobody disturbed, which took so many `seconds`."""

    base: Workplace
    expected: End
    seconds: float
    seed: int
    most: int = MOST
    kills: int = 0
    histories: int = 0
    repaired: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def history(self, number: int, folder: Path) -> None:
        """One workspace, killed until it comes to its end, and what is wrong with that."""
        rng, place = random.Random(f"{self.seed}/{number}"), self.base.copy(folder / str(number))
        longest = max(LEAST, self.seconds / rng.choice((1, 1.5, 2)))
        kills = 0
        while (code := run_until(place, None if kills == self.most else moment(rng, longest))) is None:
            kills += 1
            self.tell()
        wrong = [f"exit {code}"] if code not in FINISHED else []
        wrong += [*faults_of(place), *differences(end_of(place), self.expected)]
        with self.lock:
            self.histories += 1
            self.repaired += repairs(place)
            self.wrong += [f"history {number}, {kills} kills, {place.root}: {each}" for each in wrong]
        if not wrong:
            shutil.rmtree(place.root)

    def tell(self) -> None:
        """One more kill."""
        with self.lock:
            self.kills += 1
            if sys.stderr.isatty() or self.kills % 50 == 0:
                end = "" if sys.stderr.isatty() else "\n"
                told = f"{self.kills:,} kills, {self.histories:,} histories ended, {len(self.wrong)} differences"
                print(f"\r{told}", end=end, file=sys.stderr, flush=True)


def moment(rng: random.Random, longest: float) -> tuple[int, float]:
    """(from how many checkpoints on it counts: the opening's, and that of the run's first entry; seconds)."""
    checkpoints = rng.choices((0, 1, 2), (1, 3, 6))[0]
    return checkpoints, rng.uniform(0, longest if checkpoints else 1.0)


def run_until(place: Workplace, when: tuple[int, float] | None) -> int | None:
    """Run the job and kill it then; its exit code if it came to its end before, else None."""
    checkpoint = place.root / "audit" / "checkpoint"
    before = checkpoint.stat().st_ino
    with subprocess.Popen(
        place.run_command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()
    ) as run:
        if when is None:
            return run.wait()
        checkpoints, seconds = when
        while checkpoints and run.poll() is None:
            time.sleep(0.002)
            if (now := checkpoint.stat().st_ino) != before:
                before, checkpoints = now, checkpoints - 1
        try:
            return run.wait(seconds)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
        code = run.wait()
        return None if code == -signal.SIGKILL else code


def repairs(place: Workplace) -> Counter[str]:
    """What its runs had to repair at their start."""
    done: Counter[str] = Counter()
    for _, commit in groupby(log_of(place.site), key=lambda entry: (entry["boot"], entry["uptime_us"])):
        types = Counter(entry["type"] for entry in commit)
        if types["run.started"]:
            done["starts"] += 1
            done["commits cut from the log"] += types["recovered.cut"]
            done["parts put in place"] += types["placed"]
            done["starts that removed staged files"] += types["recovered.undone"]
    return done


def undisturbed(base: Workplace, folder: Path) -> tuple[End, float]:
    """The end of a run that nobody disturbs, and how long it takes from the opening of its log."""
    place = base.copy(folder / "whole")
    run_until(place, None)
    wrong = faults_of(place)
    assert not wrong, wrong
    return end_of(place), _seconds_of(place)


def _seconds_of(place: Workplace) -> float:
    return float(next(entry["seconds"] for entry in log_of(place.site) if entry["type"] == "run.finished"))


def torture(
    folder: Path, number: int, documents: int, seed: int, workers: int, *, most: int = MOST, only: int | None = None,
    encrypted: bool = False,
) -> Torture:  # fmt: skip
    """At least `number` kills; or the one history `only`."""
    base = Workplace.make(folder / "base", papers(documents), encrypted=encrypted)
    done = Torture(base, *undisturbed(base, folder), seed, most)
    print(f"an undisturbed run over {documents} documents: {done.seconds:.1f} s", file=sys.stderr)
    if only is not None:
        done.history(only, folder)
        return done
    numbers = count()

    def work() -> None:
        while done.kills < number:
            with done.lock:
                history = next(numbers)
            done.history(history, folder)

    with ThreadPoolExecutor(workers) as threads:
        for each in [threads.submit(work) for _ in range(workers)]:
            each.result()
    return done


def main() -> None:
    """Kill and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=1000, help="kills, at least")
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--encrypted", action="store_true", help="in workspaces that are encrypted")
    parser.add_argument("--history", type=int, help="only this one")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="histories at a time")
    asked = parser.parse_args()
    folder, began = scratch("torture"), time.monotonic()
    done = torture(
        folder, asked.number, asked.documents, asked.seed, asked.workers, only=asked.history, encrypted=asked.encrypted
    )
    print(f"\n{done.kills:,} kills in {done.histories:,} histories, {time.monotonic() - began:.0f} s")
    for what, times in done.repaired.items():
        print(f"{times:7,}  {what}")
    for line in done.wrong:
        print(f"WRONG: {line}")
    print(f"{len(done.wrong):7,}  differences")
    if not done.wrong:
        shutil.rmtree(folder)
    sys.exit(1 if done.wrong else 0)


if __name__ == "__main__":
    main()
