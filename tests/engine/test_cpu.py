"""Which instruction set and how many threads: decided from what the system says, forced by the environment."""

from itertools import pairwise
from pathlib import Path

import pytest

from engine import cpu
from engine.cpu import ISAS, MAX_THREADS, cgroup_cpus, choose_isa
from engine.errors import UnsupportedCpu

ALL = frozenset().union(*ISAS.values())


def test_the_best_that_the_cpu_has() -> None:
    assert choose_isa(ALL, None) == "amx"
    assert choose_isa(ALL - {"amx_tile"}, None) == "avx512_vnni"
    assert choose_isa(ALL - {"amx_int8"}, None) == "avx512_vnni"
    assert choose_isa(ALL - {"avx512_vnni"}, None) == "avx2"
    assert choose_isa(ALL - {"fma"}, None) == "portable"
    with pytest.raises(UnsupportedCpu, match="x86-64-v2"):
        choose_isa(frozenset(), None)


def test_forced() -> None:
    assert choose_isa(ALL, "portable") == "portable"
    with pytest.raises(UnsupportedCpu, match="this CPU lacks avx512_vnni"):
        choose_isa(ALL - {"avx512_vnni"}, "avx512_vnni")
    with pytest.raises(UnsupportedCpu, match="expected one of amx, avx512_vnni, avx2, portable"):
        choose_isa(ALL, "AVX2")


def test_each_instruction_set_has_all_that_the_ones_after_it_have() -> None:
    names = list(ISAS)
    assert names == ["amx", "avx512_vnni", "avx2", "portable"]
    for better, worse in pairwise(names):
        assert ISAS[worse] < ISAS[better]


def test_without_the_kernel_s_permission_there_is_no_amx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "cpu_flags", lambda: ALL)
    monkeypatch.setattr(cpu, "_tiles_allowed", lambda: False)
    monkeypatch.delenv("CLOISTER_ISA", raising=False)
    assert cpu.isa.__wrapped__() == "avx512_vnni"
    monkeypatch.setenv("CLOISTER_ISA", "amx")
    with pytest.raises(UnsupportedCpu, match="CLOISTER_ISA is amx, but this CPU lacks amx_tile"):
        cpu.isa.__wrapped__()
    monkeypatch.setattr(cpu, "_tiles_allowed", lambda: True)
    assert cpu.isa.__wrapped__() == "amx"


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("", {}, MAX_THREADS),
        ("0::/", {"cpu.max": "max 100000"}, MAX_THREADS),
        ("0::/a/b", {"a/cpu.max": "150000 100000"}, 2),
        ("0::/a/b", {"a/cpu.max": "400000 100000", "a/b/cpu.max": "50000 100000"}, 1),
        ("4:cpu,cpuacct:/x", {"cpu/x/cpu.cfs_quota_us": "300000", "cpu/x/cpu.cfs_period_us": "100000"}, 3),
        ("4:cpu,cpuacct:/x", {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, MAX_THREADS),
        ("7:memory:/x", {"cpu/x/cpu.cfs_quota_us": "100000", "cpu/x/cpu.cfs_period_us": "100000"}, MAX_THREADS),
        ("0::/a", {"a/cpu.max": "garbage"}, MAX_THREADS),
    ],
)
def test_quota(tmp_path: Path, membership: str, files: dict[str, str], expected: int) -> None:
    for name, body in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(body + "\n")
    assert cgroup_cpus(membership, tmp_path) == expected


@pytest.mark.parametrize("value", ["0", "-1", "1025", "two", "", "1.5", "\u0661"])
def test_bad_thread_counts_are_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOISTER_THREADS", value)
    with pytest.raises(UnsupportedCpu, match="expected a number from 1 to 1024"):
        cpu.threads.__wrapped__()
