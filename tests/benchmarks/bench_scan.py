"""One look at a folder of many files: seconds, and the bytes of memory that it takes and that its result keeps.

    python -m tests.benchmarks.bench_scan [files ...]        100000 if none is given

The files are empty, in one folder, with names of about 40 characters. `peak` is the most that Python held while it
looked, `kept` what the scan holds afterwards, both in bytes a path (tracemalloc); the seconds are the best of three,
taken without it.
"""

import gc
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from pipeline import Input, Scan, scan


def fill(folder: Path, files: int) -> None:
    """Make that many files."""
    for number in range(files):
        (folder / f"2026-11-22 scanned letter {number:08d}.pdf").touch()


def seconds(source: Input) -> float:
    """Of the quickest of three scans."""
    taken = []
    for _ in range(3):
        begun = time.perf_counter()
        scan(source)
        taken.append(time.perf_counter() - begun)
    return min(taken)


def memory(source: Input) -> tuple[Scan, int, int]:
    """A scan, the most bytes that were held while it was made, and what it holds itself."""
    gc.collect()
    tracemalloc.start()
    found = scan(source)
    gc.collect()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return found, peak, kept


def main() -> None:
    """A line for each number of files and each state that they can have."""
    print(f"{'files':>8} {'state':<9} {'seconds':>8} {'peak':>7} {'kept':>7}")
    for files in [int(argument) for argument in sys.argv[1:]] or [100_000]:
        with tempfile.TemporaryDirectory() as place:
            fill(Path(place), files)
            for state, include, settle in [
                ("ready", "*.pdf", 0.0),
                ("settling", "*", 86400.0),
                ("ignored", "*.txt", 0.0),
            ]:
                source = Input(Path(place), (include,), settle, "archive")
                found, peak, kept = memory(source)
                assert len(getattr(found, state)) == files
                print(f"{files:>8} {state:<9} {seconds(source):>8.2f} {peak / files:>7.0f} {kept / files:>7.0f}")


if __name__ == "__main__":
    main()
