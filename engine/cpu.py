"""What this machine can do: instruction set, threads, and where compiled kernels are kept. Read before numba is."""

import functools
import math
import os
from pathlib import Path

from engine.errors import UnsupportedCpu

# instruction set -> flags of /proc/cpuinfo that it needs, best first
ISAS: dict[str, frozenset[str]] = {
    "avx512_vnni": frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx2", "fma"}),
    "avx2": frozenset({"avx2", "fma", "bmi2"}),
    "portable": frozenset({"sse4_1", "ssse3"}),
}
MAX_THREADS = 1024


@functools.cache
def isa() -> str:
    """The instruction set in use: CLOISTER_ISA, else the best that this CPU has. Raises UnsupportedCpu."""
    flags = cpu_flags()
    forced = os.environ.get("CLOISTER_ISA")
    if forced is None:
        best = next((name for name, needed in ISAS.items() if needed <= flags), None)
        if best is None:
            raise UnsupportedCpu("this CPU has not even SSE 4.1; Cloister needs x86-64 from 2009 or later")
        return best
    if forced not in ISAS:
        raise UnsupportedCpu(f"CLOISTER_ISA is {forced!r}, expected one of {', '.join(ISAS)}")
    if missing := ISAS[forced] - flags:
        raise UnsupportedCpu(f"CLOISTER_ISA is {forced}, but this CPU lacks {', '.join(sorted(missing))}")
    return forced


def compiled_isa() -> str:
    """What kernels are compiled for: isa(), or portable where that raises, as `engine.load` then does."""
    try:
        return isa()
    except UnsupportedCpu:
        return "portable"


@functools.cache
def threads() -> int:
    """CLOISTER_THREADS, else the CPUs that this process may use, by affinity and cgroup. Raises UnsupportedCpu."""
    forced = os.environ.get("CLOISTER_THREADS")
    if forced is None:
        return max(1, min(len(os.sched_getaffinity(0)), _cgroup_cpus()))
    if not (forced.isascii() and forced.isdigit() and 1 <= int(forced) <= MAX_THREADS):
        raise UnsupportedCpu(f"CLOISTER_THREADS is {forced!r}, expected a number from 1 to {MAX_THREADS}")
    return int(forced)


@functools.cache
def cpu_name() -> str:
    """As the kernel names it."""
    return _cpuinfo("model name") or "unknown"


def cpu_flags() -> frozenset[str]:
    return frozenset(_cpuinfo("flags").split())


def _cpuinfo(key: str) -> str:
    for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def _cgroup_cpus() -> int:
    """CPUs that the quota of any cgroup above this process allows (cgroup v2 cpu.max, v1 cpu.cfs_quota_us)."""
    limits = [MAX_THREADS]
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        root = Path("/sys/fs/cgroup") if not controllers else Path("/sys/fs/cgroup/cpu")
        if controllers and "cpu" not in controllers.split(","):
            continue
        here = root / path.lstrip("/")
        for folder in (here, *here.parents):
            limits += _quota(folder)
            if folder == root:
                break
    return min(limits)


def _quota(folder: Path) -> list[int]:
    words = _read(folder / "cpu.max").split()
    if not words:
        words = [_read(folder / "cpu.cfs_quota_us").strip(), _read(folder / "cpu.cfs_period_us").strip()]
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return []
    return [max(1, math.ceil(int(words[0]) / int(words[1])))]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
