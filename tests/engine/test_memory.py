"""How much memory is free, as the kernel and cgroups say it; what is given back."""

from pathlib import Path

import pytest

from engine.machine import free_bytes, give_back, unchanged
from engine.simd.compiled import kernel
from tests.engine.kernels.called import called

MEMINFO = "MemTotal:       16 kB\nMemFree:        4000000 kB\nMemAvailable:    8000000 kB\n"
GIB = 1 << 30


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    (tmp_path / "meminfo").write_text(MEMINFO)
    (tmp_path / "cgroup").write_text("0::/job/part\n")
    (tmp_path / "fs" / "job" / "part").mkdir(parents=True)
    return tmp_path


def free(machine: Path) -> int:
    return free_bytes(machine / "meminfo", machine / "cgroup", machine / "fs")


def limit(folder: Path, most: str, used: int, stat: str = "", names: tuple[str, str] = ("max", "current")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"memory.{names[0]}").write_text(f"{most}\n")
    (folder / f"memory.{names[1]}").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(stat)


def test_without_a_limit_it_is_what_the_kernel_calls_available(machine: Path) -> None:
    assert free(machine) == 8000000 << 10
    limit(machine / "fs" / "job", "max", 7)
    assert free(machine) == 8000000 << 10


def test_the_least_that_a_cgroup_leaves(machine: Path) -> None:
    limit(machine / "fs" / "job", str(4 * GIB), GIB, f"anon 5\ninactive_file {GIB // 2}\n")
    assert free(machine) == 7 * GIB // 2
    limit(machine / "fs" / "job" / "part", str(2 * GIB), GIB)
    assert free(machine) == GIB
    limit(machine / "fs" / "job" / "part", str(2 * GIB), 3 * GIB)
    assert free(machine) == 0


def test_version_1(machine: Path) -> None:
    (machine / "cgroup").write_text("5:cpu,cpuacct:/x\n4:memory:/job\n")
    names = ("limit_in_bytes", "usage_in_bytes")
    limit(machine / "fs" / "memory" / "job", str(2 * GIB), GIB, f"total_inactive_file {GIB}\n", names)
    assert free(machine) == 2 * GIB


def test_nothing_is_known(tmp_path: Path) -> None:
    assert free(tmp_path) == 0
    assert free_bytes() > 0


SMAPS = """1000-3000 r-xp 00000000 00:00 7 /somewhere/a library.so
Rss:                   8 kB
Anonymous:             {} kB
Swap:                  {} kB
VmFlags: rd ex
3000-4000 {} 00000000 00:00 7 /somewhere/a library.so
Anonymous:             0 kB
Swap:                  0 kB
9000-a000 r--p 00000000 00:00 7 /somewhere/another.so
Anonymous:             0 kB
Swap:                  0 kB
"""


@pytest.mark.parametrize(("facts", "expected"), [
    ((0, 0, "r--p"), [(0x1000, 0x2000), (0x3000, 0x1000)]), ((4, 0, "r--p"), [(0x3000, 0x1000)]),
    ((0, 4, "rw-p"), []),
])  # fmt: skip
def test_only_what_is_as_in_the_file_can_go(facts: tuple[int, int, str], expected: list[tuple[int, int]]) -> None:
    assert list(unchanged(SMAPS.format(*facts), "library")) == expected
    assert not list(unchanged("", "library"))


def test_the_compiler_works_after_its_pages_went() -> None:
    def resident() -> int:
        return int(Path("/proc/self/status").read_text().split("RssFile:")[1].split()[0])

    called(kernel(lambda x: x + 1))(1)
    before = resident()
    give_back()
    assert before - resident() > 20_000  # of some 70,000 KiB
    assert called(kernel(lambda x: x + 2))(1) == 3
