"""Nights on several machines, of which one after another breaks: nothing may be lost or done twice.

    python -m tests.faults.cluster [--nights 100] [--faults 1000] [--documents 300] [--seed N]

A night is a workspace with some hundred documents, and a run that is started again until one comes to its end. Three
workers read and answer them. Meanwhile workers, the scheduler and the head are killed; workers hang, and go on later,
so that answers come twice; the network is cut, or slow and lossy; and a worker's disk has no room for the model. What
was killed is started anew, as a supervisor does. The end must be that of a run that nobody disturbed on one machine.

All of it is in a network of its own (unshare), as root.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.cluster.processes import Machines, hang, machines, on
from tests.faults.ends import End, differences, end_of, faults_of
from tests.faults.papers import papers
from tests.faults.torture import SEED, undisturbed
from tests.faults.workplace import Workplace, environment, scratch

WORKERS = ("one", "two", "three")
NIGHT_SECONDS = 900.0  # a night that has not ended by then never does
BETWEEN = (0.2, 1.5)  # seconds between two faults
NO_SCHEDULER = b"no scheduler answers there"  # a head says so that is started just then, and ends with 2
INSIDE = "CLOISTER_CLUSTER_FAULTS"
OF_MACHINE = {"worker", "engine", "parse_options"}
"""What the entry of a row says of the machine that made it."""


@dataclass
class Weather:
    """What breaks, and how often it did."""

    random: random.Random
    found: Machines
    hung: dict[str, float] = field(default_factory=dict)  # worker -> when it goes on
    bad: float = 0.0  # until when the network is bad
    counts: Counter[str] = field(default_factory=Counter)

    def strike(self, head: "subprocess.Popen[bytes]") -> None:
        """Let one thing break."""
        kinds: tuple[Callable[[subprocess.Popen[bytes]], str], ...] = (
            self.kill_worker, self.kill_worker, self.hang_worker, self.kill_scheduler, self.kill_head, self.cut,
            self.slow, self.fill_disk,
        )  # fmt: skip
        self.counts[self.random.choice(kinds)(head)] += 1

    def kill_worker(self, head: "subprocess.Popen[bytes]") -> str:
        self._anew(self.random.choice(WORKERS))
        return "worker killed"

    def fill_disk(self, head: "subprocess.Popen[bytes]") -> str:
        name = self.random.choice(WORKERS)
        self._anew(name, "full")
        return "no room for the model"

    def _anew(self, name: str, models: str | None = None) -> None:
        self.hung.pop(name, None)
        self.found.workers[name].kill()
        self.found.start_worker(name, models=models, listed=False)

    def hang_worker(self, head: "subprocess.Popen[bytes]") -> str:
        name = self.random.choice(WORKERS)
        hang(self.found.workers[name])
        self.hung[name] = time.monotonic() + self.random.choice((0.5, 3.0, 25.0))
        return "worker hung"

    def kill_scheduler(self, head: "subprocess.Popen[bytes]") -> str:
        assert self.found.scheduler
        self.found.scheduler.kill()
        self.found.start_scheduler(listens=False)
        return "scheduler killed"

    def kill_head(self, head: "subprocess.Popen[bytes]") -> str:
        head.kill()
        return "head killed"

    def cut(self, head: "subprocess.Popen[bytes]") -> str:
        subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
        self.bad = time.monotonic() + self.random.uniform(0.5, 5.0)
        return "network cut"

    def slow(self, head: "subprocess.Popen[bytes]") -> str:
        mend_network()
        netem = f"netem delay {self.random.choice((20, 200))}ms 10ms loss {self.random.choice((1, 10))}%"
        narrow = f"tbf rate {self.random.choice((1, 10))}mbit burst 70kb latency {self.random.choice((20, 200))}ms"
        if not shape(netem) and not shape(narrow):
            raise SystemExit("this kernel has neither sch_netem nor sch_tbf: the network cannot be made slow")
        self.bad = time.monotonic() + self.random.uniform(1.0, 8.0)
        return "network slow and lossy"

    def go_on(self) -> None:
        """Let those go on that have hung long enough, and mend the network."""
        now = time.monotonic()
        for name in [name for name, when in self.hung.items() if now > when]:
            del self.hung[name]
            on(self.found.workers[name])
        if self.bad and now > self.bad:
            self.bad = 0.0
            mend_network()


def shape(discipline: str) -> bool:
    """Have all packets wait in such a queue (tc(8)); False where the kernel has none. A queue of limited rate (tbf) is
    for kernels without netem: it drops what does not fit into it, so it is slow and lossy too."""
    command = ["tc", "qdisc", "replace", "dev", "lo", "root", *discipline.split()]
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0


def mend_network() -> None:
    """Have the loopback of this network namespace as it should be."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=False, stderr=subprocess.DEVNULL)


def night(place: Workplace, weather: Weather, faults: int) -> list[str]:
    """Run the job until a run comes to its end, with so many faults; what is wrong with how it ended."""
    command = [*place.run_command(), "--cluster", weather.found.address]
    until, left, code, said = time.monotonic() + NIGHT_SECONDS, faults, None, place.root / "head.log"
    while code is None or code < 0 or (code == 2 and NO_SCHEDULER in said.read_bytes()):
        with said.open("wb") as log:
            head = subprocess.Popen(command, stdout=log, stderr=log, env=environment())
        struck = time.monotonic()
        while head.poll() is None:
            if time.monotonic() > until:
                head.kill()
                return [f"it did not end in {NIGHT_SECONDS:.0f} s"]
            weather.go_on()
            if left and time.monotonic() - struck > weather.random.uniform(*BETWEEN):
                weather.strike(head)
                left, struck = left - 1, time.monotonic()
            time.sleep(0.02)
        code = head.returncode
    return [f"exit {code}: {said.read_text()[-500:]}"] if code not in (0, 1) else []


def without_machines(end: End) -> End:
    """An end without what its entries say of machines."""
    entries = {
        path: [{name: value for name, value in entry.items() if name not in OF_MACHINE} for entry in said]
        for path, said in end.entries.items()
    }
    return replace(end, entries=entries)


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A disk on which no model has room."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def nights(folder: Path, number: int, faults: int, documents: int, seed: int) -> tuple[Counter[str], list[str]]:
    """So many nights, with so many faults in all; how often what broke, and a line for each thing that is wrong."""
    base, wrong = Workplace.make(folder / "base", papers(documents)), list[str]()
    expected, seconds = undisturbed(base, folder)
    print(f"an undisturbed run on one machine over {documents} documents: {seconds:.1f} s", file=sys.stderr)
    mend_network()
    with machines(folder / "cluster", WORKERS) as found, small_disk(folder / "cluster" / "models-full"):
        weather = Weather(random.Random(seed), found)
        for count in range(1, number + 1):
            place, began = base.copy(folder / f"night-{count}"), time.monotonic()
            shutil.copytree(found.head.parent, place.root / "keys" / "cluster")
            due = faults * count // number - weather.counts.total()
            said = night(place, weather, due) or [
                *faults_of(place), *differences(without_machines(end_of(place)), without_machines(expected)),
            ]  # fmt: skip
            wrong += [f"night {count} ({place.root}): {each}" for each in said]
            told = (
                f"night {count}: {time.monotonic() - began:.0f} s, {weather.counts.total()} faults, {len(wrong)} wrong"
            )
            print(told, file=sys.stderr, flush=True)
            if not said:
                shutil.rmtree(place.root)
    return weather.counts, wrong


def main() -> None:
    """Have nights of bad weather, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=100)
    parser.add_argument("--faults", type=int, default=1000, help="in all nights together, at most")
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    if not os.environ.get(INSIDE):
        command = ["unshare", "--net", "--mount", sys.executable, "-m", "tests.faults.cluster", *sys.argv[1:]]
        os.execvpe(command[0], command, {**os.environ, INSIDE: "1"})
    folder = scratch("cluster-faults")
    counts, wrong = nights(folder, asked.nights, asked.faults, asked.documents, asked.seed)
    for what, times in counts.most_common():
        print(f"{times:7,}  {what}")
    for line in wrong:
        print(f"WRONG: {line}")
    print(f"{counts.total():7,}  faults in {asked.nights} nights, {len(wrong)} differences")
    if not wrong:
        shutil.rmtree(folder)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
