"""Processor, CPUs, memory and limits: each cause on this machine where it can be had, else in a tree of /proc."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

import pipeline
from engine import cpu
from engine.cpu import ISAS
from jobs.trust.machine import cores, limits, memory, processor
from jobs.trust.patient import Patient
from tests.jobs.conftest import Place
from tests.jobs.trust.found import patient_of, told, tree

GIB = 1 << 30


def cpuinfo(flags: frozenset[str]) -> str:
    return f"processor\t: 0\nmodel name\t: Test CPU\nflags\t\t: {' '.join(sorted(flags))}\n\n"


def with_flags(tmp_path: Path, flags: frozenset[str]) -> Patient:
    return Patient(root=tree(tmp_path, proc_cpuinfo=cpuinfo(flags)))


@pytest.fixture(autouse=True)
def unforced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLOISTER_ISA", raising=False)
    monkeypatch.delenv("CLOISTER_THREADS", raising=False)


def test_a_processor_that_is_in_order_and_what_a_better_one_would_be(tmp_path: Path) -> None:
    ((level, sentence),) = told(processor, with_flags(tmp_path, ISAS["avx2"]))
    assert (level, sentence.startswith("Test CPU: the engine computes with avx2. AVX-512 VNNI")) == ("ok", True)
    ((level, sentence),) = told(processor, with_flags(tmp_path, ISAS["avx512_vnni"]))
    assert (level, "AMX" in sentence) == ("ok", True)


def test_the_best_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "_tiles_allowed", lambda: True)
    assert told(processor, with_flags(tmp_path, ISAS["amx"])) == [
        ("ok", "Test CPU: the engine computes with amx, the best there is.")
    ]


def test_a_kernel_that_gives_no_tiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "_tiles_allowed", lambda: False)
    ((level, sentence),) = told(processor, with_flags(tmp_path, ISAS["amx"]))
    assert (level, "it has AMX, whose tiles the kernel does not give" in sentence) == ("warning", True)


def test_an_old_processor_and_one_that_is_too_old(tmp_path: Path) -> None:
    ((level, sentence),) = told(processor, with_flags(tmp_path, ISAS["portable"]))
    assert (level, "It lacks abm, avx, avx2" in sentence) == ("warning", True)
    ((level, sentence),) = told(processor, with_flags(tmp_path, frozenset({"sse2"})))
    assert (level, "lacks SSE 4.2" in sentence) == ("problem", True)


def test_an_instruction_set_that_is_forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patient = with_flags(tmp_path, ISAS["avx2"])
    monkeypatch.setenv("CLOISTER_ISA", "portable")
    ((level, sentence),) = told(processor, patient)
    assert (level, "with portable, though the processor has avx2" in sentence) == ("warning", True)
    monkeypatch.setenv("CLOISTER_ISA", "avx9")
    ((level, sentence),) = told(processor, Patient(root=patient.root))
    assert (level, "CLOISTER_ISA is 'avx9'" in sentence) == ("problem", True)


def test_threads_that_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    ((level, _),) = told(cores, Patient())
    assert level == "ok"
    monkeypatch.setenv("CLOISTER_THREADS", "1000")
    ((level, sentence),) = told(cores, Patient())
    assert (level, "1,000 threads on " in sentence, "wait for one another" in sentence) == ("warning", True, True)
    monkeypatch.setenv("CLOISTER_THREADS", "many")
    assert told(cores, Patient()) == [("problem", "No thread computes, since CLOISTER_THREADS is refused.")]
    monkeypatch.setenv("CLOISTER_THREADS", "1")
    ((level, _),) = told(cores, Patient())
    assert level == "ok"


def test_a_quota_and_an_affinity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    root = tree(tmp_path, proc_cpuinfo=cpuinfo(ISAS["avx2"]), proc_self_cgroup="0::/job\n")
    tree(root / "sys" / "fs" / "cgroup" / "job", **{"cpu.max": "150000 100000\n"})
    ((level, sentence),) = told(cores, Patient(root=root))
    assert (level, sentence.startswith("2 threads on 8 CPUs: the quota of a cgroup")) == ("ok", True)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    ((_, sentence),) = told(cores, Patient(root=root))
    assert sentence.startswith("1 thread on 8 CPUs: the affinity of this process")


def of_memory(place: Place, root: Path, total: int, free: int) -> tuple[str, str]:
    tree(root, proc_cpuinfo=cpuinfo(ISAS["avx2"]))
    tree(root, proc_meminfo=f"MemTotal: {total >> 10} kB\nMemAvailable: {free >> 10} kB\n")
    patient = patient_of(place)
    (only,) = told(memory, Patient(patient.folder, patient.workspace, root=root))
    return only


def test_memory_against_what_the_job_takes(ready: Place, tmp_path: Path) -> None:
    _, plan = next(patient_of(ready).plans())
    needed = pipeline.stages.memory_of(plan)
    model, all_of_it = needed.model + needed.texts, needed.model + needed.texts + needed.parsers
    assert of_memory(ready, tmp_path, all_of_it + 1024, all_of_it)[0] == "ok"
    level, sentence = of_memory(ready, tmp_path, all_of_it + 1024, model // 2)
    assert (level, "something else has the memory now" in sentence) == ("warning", True)
    level, sentence = of_memory(ready, tmp_path, all_of_it - 1024, all_of_it)
    assert (level, "large documents may end what runs beside them" in sentence) == ("warning", True)
    level, sentence = of_memory(ready, tmp_path, model // 2, model // 2)
    assert (level, "the job sort takes" in sentence, "does not fit" in sentence) == ("problem", True, True)
    level, sentence = of_memory(ready, tmp_path, 0, 0)
    assert (level, sentence) == ("warning", "How much memory there is cannot be read.")


def test_memory_without_a_job(tmp_path: Path) -> None:
    root = tree(tmp_path, proc_cpuinfo=cpuinfo(ISAS["avx2"]), proc_meminfo="MemTotal: 8388608 kB\n")
    root = tree(root, proc_self_cgroup="0::/job\n")
    tree(root / "sys" / "fs" / "cgroup" / "job", **{"memory.max": f"{2 * GIB}\n"})
    ((level, sentence),) = told(memory, Patient(root=root))
    assert (level, sentence.startswith("2.0 GiB of memory may be used")) == ("ok", True)


@pytest.fixture
def soft() -> Iterator[dict[int, tuple[int, int]]]:
    """Soft limits of this process, set by the test through `set_soft`, and put back."""
    before: dict[int, tuple[int, int]] = {}
    yield before
    for which, limit in before.items():
        resource.setrlimit(which, limit)


def set_soft(before: dict[int, tuple[int, int]], which: int, value: int) -> None:
    before.setdefault(which, resource.getrlimit(which))
    hard = resource.getrlimit(which)[1]
    if hard not in (resource.RLIM_INFINITY,) and hard < value:
        pytest.skip("a hard limit around the tests is lower")
    resource.setrlimit(which, (value, hard))


@pytest.fixture
def unlimited(soft: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """A process without limits that would be told, but that it may open 1,024 files."""
    set_soft(soft, resource.RLIMIT_NOFILE, 1024)
    set_soft(soft, resource.RLIMIT_CORE, 0)
    return soft


def test_limits_that_are_in_nobodys_way(unlimited: dict[int, tuple[int, int]]) -> None:
    assert told(limits, Patient()) == [("ok", "No limit on a process is in the way; it may open 1,024 files.")]


@pytest.mark.parametrize(
    ("which", "value", "level", "words"),
    [
        (resource.RLIMIT_NOFILE, 1000, "warning", "may open 1000 files"),
        (resource.RLIMIT_NOFILE, 200, "problem", "may open 200 files"),
        (resource.RLIMIT_FSIZE, 1 << 30, "problem", "may write files of 1.0 GiB at most"),
        (resource.RLIMIT_NPROC, 200, "warning", "may have 200 processes"),
        (resource.RLIMIT_CORE, 1 << 20, "warning", "leaves a dump of its memory"),
    ],
)
def test_each_limit_that_is_too_low(
    unlimited: dict[int, tuple[int, int]], which: int, value: int, level: str, words: str
) -> None:
    set_soft(unlimited, which, value)
    ((found, sentence),) = told(limits, Patient())
    assert (found, words in sentence) == (level, True)


def test_a_limit_on_addresses(unlimited: dict[int, tuple[int, int]]) -> None:
    patient = Patient()
    memory_here = patient.machine.memory
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    if mapped + GIB > memory_here:
        pytest.skip("this process has mapped more than the machine has memory")
    set_soft(unlimited, resource.RLIMIT_AS, memory_here - (1 << 20))
    ((level, sentence),) = told(limits, patient)
    assert (level, "of addresses" in sentence) == ("problem", True)
