"""The machine's instruction set, threads and name. This module is imported before numba is."""

import ctypes
import functools
import math
import os
from collections.abc import Iterator
from pathlib import Path

from engine.errors import UnsupportedCpu

_V2 = frozenset({"pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "cx16"})
_V3 = _V2 | {"avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe"}
_VNNI = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni"}
ISAS: dict[str, frozenset[str]] = {
    "amx": _VNNI | {"avx512vbmi", "amx_tile", "amx_int8"},
    "avx512_vnni": _VNNI,
    "avx2": _V3,
    "portable": _V2,
}
"""Instruction set -> the flags of /proc/cpuinfo that the LLVM CPU we compile it for may use; best first."""
MAX_THREADS = 1024
_CPUINFO = Path("/proc/cpuinfo")
_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18  # the kernel's Documentation/arch/x86/xstate.rst


@functools.cache
def isa() -> str:
    """The instruction set in use: CLOISTER_ISA, else the best that this CPU has. Raises UnsupportedCpu."""
    flags, forced = usable_flags(cpu_flags()), os.environ.get("CLOISTER_ISA")
    return choose_isa(flags, forced)


def usable_flags(flags: frozenset[str]) -> frozenset[str]:
    """The flags without `amx_tile` where the CPU has AMX and the kernel does not allow its use."""
    return flags - {"amx_tile"} if ISAS["amx"] <= flags and not _tiles_allowed() else flags


def _tiles_allowed() -> bool:
    """Ask the kernel, once a process, for the use of AMX tiles; children inherit what it grants."""
    return bool(ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0)


def choose_isa(flags: frozenset[str], forced: str | None) -> str:
    """The best instruction set for a CPU with these flags, or the forced one. Raises UnsupportedCpu."""
    if forced is None:
        best = next((name for name, needed in ISAS.items() if needed <= flags), None)
        if best is None:
            raise UnsupportedCpu(
                "this CPU lacks SSE 4.2; Cloister needs x86-64-v2, which is every CPU since 2009 or so"
            )
        return best
    if forced not in ISAS:
        raise UnsupportedCpu(f"CLOISTER_ISA is {forced!r}, expected one of {', '.join(ISAS)}")
    if missing := ISAS[forced] - flags:
        raise UnsupportedCpu(f"CLOISTER_ISA is {forced}, but this CPU lacks {', '.join(sorted(missing))}")
    return forced


def compiled_isa() -> str:
    """The instruction set that kernels are compiled for: isa(), or portable where that raises, as `engine.load` then
    does."""
    try:
        return isa()
    except UnsupportedCpu:
        return "portable"


@functools.cache
def threads() -> int:
    """CLOISTER_THREADS, else the CPUs that this process may use, by affinity and cgroup. Raises UnsupportedCpu."""
    return choose_threads(cgroup_cpus(read_text(Path("/proc/self/cgroup")), Path("/sys/fs/cgroup")))


def choose_threads(quota: int) -> int:
    """CLOISTER_THREADS, else the CPUs that affinity allows this process, or the quota if that is less. Raises
    UnsupportedCpu."""
    forced = os.environ.get("CLOISTER_THREADS")
    if forced is None:
        return max(1, min(len(os.sched_getaffinity(0)), quota))
    if not (forced.isascii() and forced.isdigit() and 1 <= int(forced) <= MAX_THREADS):
        raise UnsupportedCpu(f"CLOISTER_THREADS is {forced!r}, expected a number from 1 to {MAX_THREADS}")
    return int(forced)


@functools.cache
def cpu_name(cpuinfo: Path = _CPUINFO) -> str:
    """The CPU's name in /proc/cpuinfo."""
    return _said(cpuinfo, "model name") or "unknown"


def cpu_flags(cpuinfo: Path = _CPUINFO) -> frozenset[str]:
    """The CPU's flags in /proc/cpuinfo."""
    return frozenset(_said(cpuinfo, "flags").split())


def _said(cpuinfo: Path, key: str) -> str:
    for line in cpuinfo.read_text(errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def cgroup_cpus(membership: str, root: Path) -> int:
    """CPUs that the quota of any cgroup above this process allows (v2 cpu.max, v1 cpu.cfs_quota_us), rounded up.

    `membership` is the text of /proc/self/cgroup, `root` where cgroups are mounted.
    """
    return min([MAX_THREADS, *(cpus for folder, _ in cgroups(membership, root, "cpu") for cpus in _quota(folder))])


def cgroups(membership: str, root: Path, controller: str) -> Iterator[tuple[Path, bool]]:
    """The folders of all cgroups above this process with this controller, and whether each is of version 1."""
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            top = root / controller if controllers else root
            folder = top / path.lstrip("/")
            yield from ((here, bool(controllers)) for here in (folder, *folder.parents) if here.is_relative_to(top))


def _quota(folder: Path) -> list[int]:
    words = read_text(folder / "cpu.max").split()
    if not words:
        words = [read_text(folder / "cpu.cfs_quota_us").strip(), read_text(folder / "cpu.cfs_period_us").strip()]
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return []
    return [max(1, math.ceil(int(words[0]) / int(words[1])))]


def read_text(path: Path) -> str:
    """The text of a file of the kernel; "" where it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""
