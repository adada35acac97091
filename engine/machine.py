"""What the engine finds on a machine: what it computes with, and what a better machine would give it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.compiling import FOLDER, LASTING
from engine.cpu import ISAS, cgroup_cpus, choose_isa, choose_threads, cpu_flags, cpu_name, read_text, usable_flags
from engine.errors import UnsupportedCpu
from engine.memory import free_bytes, limit_bytes


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
