"""The log: appending with group commit, one record a commit beside the bare disk, and verification.

    python -m tests.benchmarks.bench_audit [records]        40000 if none is given

Entries have about 1.1 kB, as those of documents do. `group commit` appends 500 records a commit, as a run does for a
part. `one a commit` alternates with a bare loop in the same folder: as many appends, each with fdatasync, as the commit
made syncs (counted by the kernel's names for them: fsync in audit/durable.py); the medians' difference is what the log
adds. `verify` reads the log that this made, in one process and in as many as there are CPUs.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import audit
from audit.parallel import hash_segment

PART = 500
ONE_BY_ONE = 60


def record(number: int) -> dict[str, Any]:
    """About what a run says of a document."""
    return {
        "type": "document", "run": "20261122T000000Z-abcdef", "job": "sort", "path": f"post/letter {number}.pdf",
        "document": f"{number:064x}", "size": 12345, "media_type": "application/pdf", "encoding": None,
        "encoding_confidence": None, "language": "en", "pages": 3, "state": "done", "failure": None, "reason": None,
        "text_sha256": f"{number + 1:064x}", "tokens": 1234, "result_sha256": f"{number + 2:064x}",
        "finished_at": "2026-11-22T00:00:00.000Z", "part": "outbox/sort/part-00001.parquet", "row": number % PART,
        "markdown": {"file": f"outbox/sort/_markdown/post/letter {number}.pdf.md", "sha256": f"{number + 3:064x}"},
        "model": "all-minilm-l6-v2-q8_0", "model_sha256": f"{7:064x}", "numerics": "int8-1", "job_digest": f"{8:064x}",
        "engine": {"cpu": "a processor", "isa": "avx2", "threads": 4, "types": "q8_0"}, "parser": "pdf pdfium 7323",
    }  # fmt: skip


@contextmanager
def log_in(folder: Path) -> Iterator[tuple[audit.Log, str]]:
    """A new log, its writer and its public key."""
    key = audit.generate_key(folder / "key", "bench.example/log")
    audit.Log.create(folder / "audit", key_path=folder / "key", public_key=key)
    with audit.Log.open(folder / "audit", key_path=folder / "key", public_key=key) as log:
        yield log, key


def seconds(action: Callable[[], object]) -> float:
    """Of the clock on the wall."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def syncs_of(action: Callable[[], object]) -> int:
    """How often it calls fsync."""
    real, count = os.fsync, 0

    def fsync(fd: int) -> None:
        nonlocal count
        count += 1
        real(fd)

    os.fsync = fsync
    try:
        action()
    finally:
        os.fsync = real
    return count


def bare(fd: int, syncs: int, line: bytes) -> None:
    """What the disk alone takes."""
    for _ in range(syncs):
        os.write(fd, line)
        os.fdatasync(fd)


def append(log: audit.Log, records: int) -> float:
    """Records a second with group commit."""
    parts = [[record(n) for n in range(at, at + PART)] for at in range(0, records, PART)]
    return records / seconds(lambda: [log.commit(part) for part in parts])


def one_by_one(log: audit.Log, folder: Path) -> tuple[float, float, int, float]:
    """Medians in milliseconds: a commit, and the bare disk; the syncs of a commit; CPU milliseconds of a commit."""
    syncs, line = syncs_of(lambda: log.commit([record(0)])), b"x" * 1100
    ours, disk, cpu = [], [], []
    fd = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(ONE_BY_ONE):
        before = time.process_time()
        ours.append(seconds(lambda number=number: log.commit([record(number)])))  # type: ignore[misc]
        cpu.append(time.process_time() - before)
        disk.append(seconds(lambda: bare(fd, syncs, line)))
    os.close(fd)
    return *(1000 * statistics.median(each) for each in (ours, disk)), syncs, 1000 * statistics.median(cpu)


def per_core(folder: Path) -> float:
    """Entries a second of a processor's own time: canonical form, numbers and tree, segment by segment."""
    sizes = {int(path.stem): path.stat().st_size for path in (folder / "entries").iterdir()}
    full = sorted(sizes)[:-1]
    begun = time.process_time()
    for first in full:
        assert hash_segment(folder, first, sizes[first]) is not None
    return 4096 * len(full) / (time.process_time() - begun)


def main() -> None:
    """Measure, and print a table."""
    records = int(sys.argv[1]) if sys.argv[1:] else 40_000
    cpus = len(os.sched_getaffinity(0))
    rows: list[tuple[str, str, str]] = []
    with tempfile.TemporaryDirectory(dir=".") as place:
        folder = Path(place)
        with log_in(folder) as (log, key):
            rows.append((f"group commit, {PART} records each", f"{append(log, records):,.0f} records/s", "10,000"))
            ours, disk, syncs, cpu = one_by_one(log, folder)
        what = f"{ours:.1f} ms; the disk {disk:.1f} ms for {syncs} syncs; {ours - disk:.1f} ms beyond, {cpu:.1f} of CPU"
        rows.append(("one record a commit (medians)", what, "5 ms beyond"))
        for processes in sorted({1, cpus}):
            took = seconds(lambda processes=processes: audit.verify(folder / "audit", key, processes=processes))  # type: ignore[misc]
            rows.append((f"verify, processes: {processes}", f"{records / took:,.0f} entries/s", ""))
        rows.append(("verify, entries per second of CPU", f"{per_core(folder / 'audit'):,.0f} entries/s", "40,000"))
        size = (folder / "audit" / "entries" / "000000000000.jsonl").stat().st_size / 4096
    print(f"| {records:,} entries of {size:,.0f} bytes | | asked |\n|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
