"""What the engine finds on a machine: what it computes with, and what a better machine would give it."""

import ctypes
import mmap
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.compiling import FOLDER, LASTING
from engine.cpu import (
    ISAS,
    cgroup_cpus,
    cgroups,
    choose_isa,
    choose_threads,
    cpu_flags,
    cpu_name,
    read_text,
    usable_flags,
)
from engine.errors import UnsupportedCpu


@dataclass(frozen=True)
class Machine:
    """What there is to compute with.

    `isa` is the instruction set in use, or None where the engine computes nothing here, and `refused` says why. Of the
    instruction sets `known`, best first, `has` is the best that the processor has, and `lacking` names for each what
    the processor or the kernel does not give. `threads` is None where CLOISTER_THREADS is refused. `cpus` are those of
    the machine, `allowed` those that affinity allows, `quota` those of the cgroup's quota, rounded up, None without
    one. `memory` are the bytes that a process could have at best, `free` those that it could still take; 0 where that
    is not known. `kernels` is the folder of compiled kernels, and `kept` whether it stays for the next process.
    """

    cpu: str
    isa: str | None
    refused: str | None
    known: tuple[str, ...]
    has: str | None
    lacking: Mapping[str, tuple[str, ...]]
    threads: int | None
    cpus: int
    allowed: int
    quota: int | None
    memory: int
    free: int
    kernels: Path
    kept: bool


def look_at_machine(root: Path = Path("/")) -> Machine:
    """Look at this machine. The files of the kernel are read below `root`; OSError if /proc/cpuinfo is not there."""
    cpuinfo, meminfo = root / "proc/cpuinfo", root / "proc/meminfo"
    cgroup, cgroups = root / "proc/self/cgroup", root / "sys/fs/cgroup"
    flags = usable_flags(cpu_flags(cpuinfo))
    isa, refused = _isa(flags, os.environ.get("CLOISTER_ISA"))
    quota, online = cgroup_cpus(read_text(cgroup), cgroups), os.cpu_count() or 1
    try:
        threads: int | None = choose_threads(quota)
    except UnsupportedCpu as error:
        threads, refused = None, refused or str(error)
    return Machine(
        cpu=cpu_name(cpuinfo),
        isa=isa,
        refused=refused,
        known=tuple(ISAS),
        has=_isa(flags, None)[0],
        lacking={name: tuple(sorted(needed - flags)) for name, needed in ISAS.items()},
        threads=threads,
        cpus=online,
        allowed=len(os.sched_getaffinity(0)),
        quota=quota if quota < online else None,
        memory=limit_bytes(meminfo, cgroup, cgroups),
        free=free_bytes(meminfo, cgroup, cgroups),
        kernels=FOLDER,
        kept=LASTING,
    )


def _isa(flags: frozenset[str], forced: str | None) -> tuple[str | None, str | None]:
    """The instruction set that would be used, or why there is none."""
    try:
        return choose_isa(flags, forced), None
    except UnsupportedCpu as error:
        return None, str(error)


_MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) .*$", re.MULTILINE)


def free_bytes(meminfo: Path = Path("/proc/meminfo"), cgroup: Path = Path("/proc/self/cgroup"),
               root: Path = Path("/sys/fs/cgroup")) -> int:  # fmt: skip
    """Returns the bytes that the kernel calls available (man 5 proc), or those that the limit of a cgroup above this
    process leaves, if that is less; 0 where neither is known."""
    left = [_kibibytes(read_text(meminfo), "MemAvailable:"), *_left(read_text(cgroup), root)]
    return max(0, min((number for number in left if number is not None), default=0))


def limit_bytes(meminfo: Path = Path("/proc/meminfo"), cgroup: Path = Path("/proc/self/cgroup"),
                root: Path = Path("/sys/fs/cgroup")) -> int:  # fmt: skip
    """Returns the bytes of memory that this process could have at best: those of the machine, or the limit of a cgroup
    above it, if that is less; 0 where neither is known."""
    names = {False: "memory.max", True: "memory.limit_in_bytes"}
    folders = cgroups(read_text(cgroup), root, "memory")
    limits = [read_text(folder / names[is_first]).strip() for folder, is_first in folders]
    total = _kibibytes(read_text(meminfo), "MemTotal:")
    return min([*(int(each) for each in limits if each.isdigit()), *([total] if total else [])], default=0)


def give_back() -> None:
    """Gives memory back to the system that loading needed and computing does not: memory that was freed, and pages of
    libraries that are the bytes of their files, most of them LLVM's, which come back from there when they are
    called."""
    library = ctypes.CDLL(None)
    library.malloc_trim(0)
    for first, size in unchanged(read_text(Path("/proc/self/smaps")), ".so"):
        library.madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), mmap.MADV_DONTNEED)


def unchanged(smaps: str, name: str) -> Iterator[tuple[int, int]]:
    """First byte and size of mappings of files of this name that nobody can write, and of which no page is the
    process's own, such as one that was relocated (man 5 proc_pid_smaps)."""
    found = list(_MAPPING.finditer(smaps))
    ends = [*(each.start() for each in found), len(smaps)][1:]
    for each, end in zip(found, ends, strict=True):
        facts = smaps[each.end() : end]
        own = re.findall(r"^(?:Anonymous|Swap): +(\d+) kB$", facts, re.MULTILINE)
        if name in each[0] and "w" not in each[3] and own == ["0", "0"]:
            first = int(each[1], 16)
            yield first, int(each[2], 16) - first


def _kibibytes(meminfo: str, name: str) -> int | None:
    """The bytes that a line of /proc/meminfo states."""
    for line in meminfo.splitlines():
        words = line.split()
        if words[:1] == [name] and words[1:2] and words[1].isdigit():
            return int(words[1]) << 10
    return None


def _left(membership: str, root: Path) -> list[int | None]:
    """The bytes that each cgroup leaves (v2 memory.max, v1 memory.limit_in_bytes, less what is in use and not a cache
    of files that can go); None where there is no limit."""
    names = {False: ("memory.max", "memory.current"), True: ("memory.limit_in_bytes", "memory.usage_in_bytes")}
    return [_of(folder, *names[is_first]) for folder, is_first in cgroups(membership, root, "memory")]


def _of(folder: Path, limit: str, usage: str) -> int | None:
    most, used = read_text(folder / limit).strip(), read_text(folder / usage).strip()
    if not most.isdigit() or not used.isdigit():
        return None
    facts = dict(line.split(" ", 1) for line in read_text(folder / "memory.stat").splitlines() if " " in line)
    cached = facts.get("total_inactive_file", facts.get("inactive_file", "0"))
    return int(most) - int(used) + (int(cached) if cached.isdigit() else 0)
