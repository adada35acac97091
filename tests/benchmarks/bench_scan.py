"""One look at a folder of many files: seconds, and the bytes of memory that it takes and that its result keeps.

    python -m tests.benchmarks.bench_scan [files ...]        100000 if none is given

The files are empty, in one folder, with names of about 45 characters. `peak` is the most that Python held while it
looked a second time, `kept` what is held afterwards by the result and the sightings, both in bytes a path
(tracemalloc); the seconds are the best of three, taken without it. `watched` files have times in the future; `batch`
files are named by a manifest, and their bytes are not compared.
"""

import gc
import hashlib
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from pipeline import Input, scan
from pipeline.inbox.batches import Sightings
from pipeline.inbox.discover import Scan

NOTHING = hashlib.sha256(b"").hexdigest()
ROWS = [  # what is measured, input.include, settle_seconds, the time of the look, the state that all files have
    ("ready", "*.pdf", 0.0, None, "ready"),
    ("settling", "*.pdf", 86400.0, None, "settling"),
    ("watched", "*.pdf", 86400.0, 0.0, "settling"),
    ("ignored", "*.txt", 0.0, None, "ignored"),
    ("batch", "*.pdf", 0.0, None, "ready"),
]


def fill(folder: Path, files: int) -> list[str]:
    """Make that many files; their names."""
    names = [f"2026-11-22 scanned letter {number:08d}.pdf" for number in range(files)]
    for name in names:
        (folder / name).touch()
    return names


def seconds(source: Input, now: float | None) -> float:
    """Of the quickest of three scans."""
    taken = []
    for _ in range(3):
        begun = time.perf_counter()
        scan(source, now)
        taken.append(time.perf_counter() - begun)
    return min(taken)


def memory(source: Input, now: float | None) -> tuple[Scan, int, int]:
    """A second scan, the most bytes that were held while it was made, and what it and the sightings hold."""
    gc.collect()
    tracemalloc.start()
    sightings = Sightings()
    scan(source, now, sightings=sightings)
    tracemalloc.reset_peak()
    found = scan(source, now, sightings=sightings)
    gc.collect()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return found, peak, kept


def main() -> None:
    """A line for each number of files and each row."""
    print(f"{'files':>8} {'':<9} {'seconds':>8} {'peak':>7} {'kept':>7}")
    for files in [int(argument) for argument in sys.argv[1:]] or [100_000]:
        with tempfile.TemporaryDirectory() as place:
            names = fill(Path(place), files)
            for title, include, settle, now, state in ROWS:
                if title == "batch":
                    lines = "".join(f"{NOTHING}  {name}\n" for name in names)
                    (Path(place) / "manifest.sha256").write_text(lines)
                source = Input(Path(place), (include,), settle, "archive")
                found, peak, kept = memory(source, now)
                assert len(getattr(found, state)) == files
                took = seconds(source, now)
                print(f"{files:>8} {title:<9} {took:>8.2f} {peak / files:>7.0f} {kept / files:>7.0f}", flush=True)


if __name__ == "__main__":
    main()
