"""What the engine finds on a machine: this one, and one of which the kernel's files say something else."""

from pathlib import Path

import pytest

import engine
from engine.compiling import FOLDER
from engine.cpu import ISAS
from engine.machine import free_bytes, limit_bytes

GIB = 1 << 30


def test_this_machine() -> None:
    machine = engine.look_at_machine()
    assert (machine.isa, machine.threads, machine.refused) == (engine.isa(), engine.threads(), None)
    assert (machine.kernels, machine.lacking["portable"]) == (FOLDER, ())
    assert 0 < free_bytes() <= machine.memory
    assert machine.allowed <= machine.cpus


def test_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLOISTER_ISA", raising=False)
    monkeypatch.delenv("CLOISTER_THREADS", raising=False)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/cpuinfo").write_text(f"model name : Old\nflags : {' '.join(ISAS['portable'])}\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n")
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    machine = engine.look_at_machine(tmp_path)
    assert (machine.cpu, machine.isa, machine.has) == ("Old", "portable", "portable")
    assert machine.lacking["avx2"] == tuple(sorted(ISAS["avx2"] - ISAS["portable"]))
    assert (machine.memory, machine.free, machine.quota) == (8 * GIB, 4 * GIB, None)
    monkeypatch.setenv("CLOISTER_ISA", "avx2")
    machine = engine.look_at_machine(tmp_path)
    assert (machine.isa, machine.has) == (None, "portable")
    assert "this CPU lacks" in (machine.refused or "")


def test_the_least_limit_of_a_cgroup(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 8388608 kB\n")
    (tmp_path / "cgroup").write_text("0::/a/b\n")
    (tmp_path / "fs/a/b").mkdir(parents=True)
    where = (tmp_path / "meminfo", tmp_path / "cgroup", tmp_path / "fs")
    assert limit_bytes(*where) == 8 * GIB
    (tmp_path / "fs/a/b/memory.max").write_text("max\n")
    (tmp_path / "fs/a/memory.max").write_text(f"{2 * GIB}\n")
    assert limit_bytes(*where) == 2 * GIB
    (tmp_path / "cgroup").write_text("4:memory:/c\n")
    (tmp_path / "fs/memory/c").mkdir(parents=True)
    (tmp_path / "fs/memory/c/memory.limit_in_bytes").write_text(f"{3 * GIB}\n")
    assert limit_bytes(*where) == 3 * GIB
    assert limit_bytes(tmp_path / "none", tmp_path / "none", tmp_path) == 0
