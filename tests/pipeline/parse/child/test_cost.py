"""What a child costs in memory. (What a document costs in time is measured by tests/benchmarks/bench_job.py.)"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pipeline.parse import Limits, ParserPool
from pipeline.parse.child.process import end_kept


def pss_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def test_server_and_children_are_small(tmp_path: Path, processes) -> None:
    for number in range(200):
        (tmp_path / f"{number}.txt").write_text(f"Letter {number}. " + "Some words that one reads in a letter. " * 14)
    end_kept()
    before = processes(os.getpid())
    with ParserPool(2, Limits(documents_per_child=1000)) as pool, ThreadPoolExecutor(2) as threads:

        def length(path: Path) -> int:
            with path.open("rb") as file:
                return len(pool.parse(file.fileno(), path.name).text)

        assert min(threads.map(length, sorted(tmp_path.iterdir()))) > 500
        sizes = [pss_mib(pid) for pid in processes(os.getpid()) if pid not in before]
    assert len(sizes) == 3
    assert max(sizes) < 80
