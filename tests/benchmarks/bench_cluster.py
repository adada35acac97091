"""Four workers in networks of their own, each with its share of a CPU, against one of them alone; and the head's CPU.

    python -m tests.benchmarks.bench_cluster [--share 0.4] [--contracts 200] [--letters 4000] [--small 3000]

Needs root (it makes network namespaces and cgroups), CLOISTER_MODEL, and for contracts CLOISTER_DATA.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.processes import COMMAND, Machines, machines
from tests.faults.workplace import scratch

HOST, INSIDE = "10.97.0.1", "CLOISTER_BENCH_CLUSTER"
NAMES = ("one", "two", "three", "four")
ROOT = Path(__file__).parents[2]
JOB = "correspondence-triage"
CGROUPS = Path("/sys/fs/cgroup")


def sh(command: str) -> None:
    subprocess.run(command, shell=True, check=True)


@contextmanager
def networks() -> Iterator[None]:
    """A bridge with the head's address, and a network namespace for each worker, joined to it."""
    sh(f"ip link set lo up; ip link add br0 type bridge; ip addr add {HOST}/24 dev br0; ip link set br0 up")
    for number, name in enumerate(NAMES, 2):
        sh(f"ip netns add {name}; ip link add v{number} type veth peer name eth0 netns {name}")
        sh(f"ip link set v{number} master br0 up; ip -n {name} addr add 10.97.0.{number}/24 dev eth0")
        sh(f"ip -n {name} link set eth0 up; ip -n {name} link set lo up")
    try:
        yield
    finally:
        for name in NAMES:
            sh(f"ip netns del {name}")


@contextmanager
def shares(share: float) -> Iterator[dict[str, Path]]:
    """A cgroup for each worker that gives it so much of one CPU: the file that takes process numbers."""
    one = (CGROUPS / "cgroup.controllers").exists()
    base, made = (CGROUPS if one else CGROUPS / "cpu"), dict[str, Path]()
    if one:
        (CGROUPS / "cgroup.subtree_control").write_text("+cpu")
    for name in NAMES:
        folder = base / f"cloister-bench-{name}"
        folder.mkdir(exist_ok=True)
        if one:
            (folder / "cpu.max").write_text(f"{int(share * 100_000)} 100000")
        else:
            (folder / "cpu.cfs_period_us").write_text("100000")
            (folder / "cpu.cfs_quota_us").write_text(str(int(share * 100_000)))
        made[name] = folder / ("cgroup.procs" if one else "tasks")
    try:
        yield made
    finally:
        time.sleep(0.5)
        for path in made.values():
            path.parent.rmdir()


def workspace(folder: Path, documents: list[tuple[str, bytes]]) -> Path:
    """A workspace with one job that classifies, its model, and documents that wait."""
    run(["init", str(folder), "--example", JOB])
    shutil.copy(os.environ["CLOISTER_MODEL"], folder / "models")
    job = folder / "jobs" / f"{JOB}.yaml"
    job.write_text(job.read_text().replace("settle_seconds: 30", "settle_seconds: 0"))
    for name, body in documents:
        path = folder / "inbox" / JOB / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    return folder


def run(arguments: list[str]) -> tuple[float, float]:
    """Seconds that a command took, and CPU seconds of its processes."""
    began = time.monotonic()
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr
    said = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 1), said[-2000:]
    return time.monotonic() - began, used.ru_utime + used.ru_stime


def contracts(count: int) -> list[tuple[str, bytes]]:
    """Real contracts; none without CLOISTER_DATA."""
    folder = Path(os.environ.get("CLOISTER_DATA", "/nowhere"), "extraction/cuad/txt")
    return copies([path for path in sorted(folder.rglob("*.txt")) if path.stat().st_size > 1000], count)


def letters(count: int) -> list[tuple[str, bytes]]:
    """The letters of the demo that are text."""
    paths = sorted((ROOT / "tests/corpus/demo" / JOB).rglob("*"))
    return copies([path for path in paths if path.suffix in (".txt", ".md")], count)


def copies(paths: list[Path], count: int) -> list[tuple[str, bytes]]:
    """So many documents, by chance that is always the same, each with a last line of its own: none is a duplicate."""
    chosen = random.Random(1).choices(paths, k=count) if paths else []
    return [(f"{n:05}.txt", path.read_bytes() + f"\nCopy {n}\n".encode()) for n, path in enumerate(chosen)]


def small(count: int) -> list[tuple[str, bytes]]:
    """Letters of a few lines."""
    return [
        (f"{n:06}.txt", f"Invoice {n}: the total due is {n} EUR, payable at once.\n".encode()) for n in range(count)
    ]


def night(folder: Path, documents: list[tuple[str, bytes]], found: Machines) -> tuple[float, float]:
    """Seconds from the first worker's being ready to the end, and CPU seconds of the head, of a night."""
    place = workspace(folder, documents)
    shutil.copytree(found.head.parent, place / "keys" / "cluster", dirs_exist_ok=True)
    took = run(["run", JOB, "--cluster", found.address, "--workspace", str(place)])
    shutil.rmtree(place)
    return took


def start(found: Machines, names: tuple[str, ...], groups: dict[str, Path]) -> None:
    for name in names:
        inside = f'echo $$ > {groups[name]} && exec "$@"'  # before the network: in it cgroups are not mounted
        found.start_worker(name, within=["sh", "-c", inside, "sh", "ip", "netns", "exec", name])


def used(groups: Iterable[Path]) -> float:
    """The CPU seconds of all processes in these groups, and of those that they have outlived."""
    pids = [pid for group in groups for pid in group.with_name("cgroup.procs").read_text().split()]
    stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15] for pid in pids]
    return sum(int(ticks) for stat in stats for ticks in stat) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Rate:
    """Bytes a second, and the share of their CPU that the workers used. Without what a night takes that has next to
    nothing to do."""

    bytes: float
    busy: float


def rate(found: Machines, folder: Path, documents: list[tuple[str, bytes]], groups: list[Path], share: float) -> Rate:
    """What a cluster does with the documents."""
    workers = len(groups)
    night(folder / "warm", documents[:workers], found)
    at = [used(groups)]
    base, _ = night(folder / "few", documents[:workers], found)
    at.append(used(groups))
    took, _ = night(folder / "all", documents, found)
    at.append(used(groups))
    seconds, cpu = took - base, at[2] - at[1] - (at[1] - at[0])
    return Rate(sum(len(body) for _, body in documents[workers:]) / seconds, cpu / (seconds * share * workers))


def compare(
    folder: Path, groups: dict[str, Path], documents: list[tuple[str, bytes]], asked: argparse.Namespace, what: str
) -> None:
    """Print what four workers do of four times one, which gets a quarter of the documents: nights of one length. Where
    two CPUs are one core's threads, four do less than that with the same CPU time: see how busy they were."""
    per = dict[int, list[Rate]]()
    for _ in range(asked.rounds):
        for workers in (1, 4):
            some = documents if workers == 4 else documents[::4]
            with machines(folder / "cluster", host=HOST) as found:
                start(found, NAMES[:workers], groups)
                theirs = [groups[name] for name in NAMES[:workers]]
                per.setdefault(workers, []).append(rate(found, folder, some, theirs, asked.share))
            shutil.rmtree(folder / "cluster")
            told = per[workers][-1]
            print(f"  {what}, {workers}: {told.bytes / 1000:.1f} kB/s, busy {told.busy:.3f}", flush=True)
    one, four = (statistics.median(each.bytes for each in per[workers]) for workers in (1, 4))
    busy = statistics.median(each.busy for each in per[4])
    print(f"{len(documents)} {what}: four workers have {four / (4 * one):.3f} of four times one", flush=True)
    print(f"{len(documents)} {what}: four workers use {busy:.3f} of the sum of their shares (bar 0.9)", flush=True)


def head(folder: Path, groups: dict[str, Path], count: int) -> None:
    """Print the CPU time of the head for a document: between two nights, one with twice as many."""
    with machines(folder / "cluster", host=HOST) as found:
        start(found, NAMES, groups)
        night(folder / "warm", small(5), found)
        (_, less), (_, more) = (night(folder / "head", small(count * k), found) for k in (1, 2))
    each = (more - less) / count
    share = f"{100 * each:.1%} of a core at 100 a second (bar 10%)"
    print(f"the head takes {1000 * each:.2f} ms of CPU a document: {share}")


def measure(asked: argparse.Namespace) -> None:
    """Print the figures."""
    folder = scratch("bench-cluster")
    with ExitStack() as held:
        held.enter_context(networks())
        groups = held.enter_context(shares(asked.share))
        print(f"each worker has {asked.share:.0%} of a CPU")
        if documents := contracts(asked.contracts):
            compare(folder, groups, documents, asked, "contracts")
        compare(folder, groups, letters(asked.letters), asked, "letters")
        head(folder, groups, asked.small)
    shutil.rmtree(folder)


def main() -> None:
    """Measure in a network namespace of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.4)
    parser.add_argument("--contracts", type=int, default=200, help="for four workers")
    parser.add_argument("--letters", type=int, default=4000, help="for four workers")
    parser.add_argument("--small", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    if not os.environ.get(INSIDE):
        command = ["unshare", "--net", "--mount", sys.executable, "-m", "tests.benchmarks.bench_cluster", *sys.argv[1:]]
        os.execvpe(command[0], command, {**os.environ, INSIDE: "1"})
    measure(asked)


if __name__ == "__main__":
    main()
