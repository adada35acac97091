"""What a document and a child cost: fixed costs stay small, or nights become long."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pipeline.parse import ParserPool


def pss_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def test_small_documents_are_quick_and_children_small(tmp_path: Path, processes) -> None:
    for number in range(500):
        (tmp_path / f"{number}.txt").write_text(f"Letter {number}. " + "Some words that one reads in a letter. " * 14)
    before = processes(os.getpid())
    started = time.perf_counter()
    with ParserPool(2) as pool, ThreadPoolExecutor(2) as threads:
        ready = time.perf_counter() - started

        def length(path: Path) -> int:
            with path.open("rb") as file:
                return len(pool.parse(file.fileno(), path.name).text)

        started = time.perf_counter()
        lengths = list(threads.map(length, sorted(tmp_path.iterdir())))
        rate = len(lengths) / (time.perf_counter() - started)
        sizes = [pss_mib(pid) for pid in processes(os.getpid()) if pid not in before]
    assert min(lengths) > 500
    assert rate > 500  # measured 3,000 to 4,500 on two cores
    assert ready < 3  # measured 0.25 to 0.4 s
    assert len(sizes) == 3
    assert max(sizes) < 80
