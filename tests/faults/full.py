"""Runs on a disk that is really full: a small one (tmpfs, in a mount namespace of its own), filled up meanwhile.

    python -m tests.faults.full --number 10

Each time the disk is filled when so many parts are committed, at once or a moment later. The run has to stop with the
reason and be logged as stopped, in the room that was kept back; once there is room, the next run ends as one that
nobody disturbed. A line for each thing that does not hold; exit 1 if there is one.
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.ends import differences, end_of, faults_of, log_of
from tests.faults.papers import papers
from tests.faults.workplace import JOB, Workplace, environment, scratch

DOCUMENTS, PART = 30, 3
SIZE = "80m"
CODES = (2, 4)  # the workspace, or the log, cannot be written
_INSIDE = "--inside"


def attempt(place: Workplace, parts: int, moment: float, documents: int) -> list[str] | None:
    """Fill the disk so many seconds after so many parts, and see what comes of it. None if too little was left to do.

    `documents` is how many a run that nobody disturbs logs.
    The run stands still meanwhile: on a fast machine it would have ended before the disk is full. A last part that is
    written and only has to be logged may need no more room than the log has in its last block.
    """
    filler = place.root.parent / "filler"
    with subprocess.Popen(
        place.run_command(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment()
    ) as run:
        while run.poll() is None and len(list((place.root / "outbox" / JOB).glob("*.parquet"))) < parts:
            time.sleep(0.002)
        time.sleep(moment)
        run.send_signal(signal.SIGSTOP)
        logged = sum(entry["type"] == "document" for entry in log_of(place.site))
        ended = run.poll() is not None or logged >= documents - PART
        if not ended:
            fill(filler)
        run.send_signal(signal.SIGCONT)
        said, code = run.communicate()[1], run.returncode
    if ended:
        return None
    wrong = []
    if code not in CODES:
        wrong.append(f"exit {code}: {said[-2000:]}")
    elif "No space left on device" not in said or "Traceback" in said:
        wrong.append(f"without the reason, or with a traceback: {said[-2000:]}")
    if (last := list(log_of(place.site))[-1])["type"] != "run.stopped":
        wrong.append(f"the last entry is {last['type']}")
    full = place.run()
    if full.returncode not in CODES or "No space left on device" not in full.stderr:
        wrong.append(f"a run on the full disk: exit {full.returncode}: {full.stderr}")
    filler.unlink()
    if (again := place.run()).returncode not in (0, 1):
        wrong.append(f"the next run: exit {again.returncode}: {again.stderr}")
    if not (place.root / "state" / "reserve").is_file():
        wrong.append("the reserve was not made again")
    return wrong


def fill(path: Path) -> None:
    """Until nothing more goes in."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                continue


def work(folder: Path, number: int, seed: int) -> list[str]:
    """All attempts, on a disk that is mounted at `folder`."""
    rng, wrong = random.Random(seed), list[str]()
    elsewhere = scratch("full")
    try:
        base = Workplace.make(elsewhere / "base", papers(DOCUMENTS), PART)
        whole = base.copy(elsewhere / "whole")
        whole.run()
        expected = end_of(whole)
        documents = sum(len(entries) for entries in expected.entries.values())
        for each in range(number):
            parts, moment = rng.randint(1, 5), rng.choice((0.0, rng.uniform(0, 0.1)))
            place = base.copy(folder / "ws")
            while (found := attempt(place, parts, moment, documents)) is None:
                shutil.rmtree(place.root)
                place, moment = base.copy(folder / "ws"), moment / 2
            found += [*faults_of(place), *differences(end_of(place), expected)]
            wrong += [f"attempt {each}, filled {moment:.3f} s after {parts} parts: {what}" for what in found]
            shutil.rmtree(place.root)
            print(f"{each + 1} of {number} times full, {len(wrong)} wrong", flush=True)
    finally:
        shutil.rmtree(elsewhere)
    return wrong


def main() -> None:
    """Mount, fill and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=10)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument(_INSIDE, action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    around = ["unshare", "--map-root-user", "--mount"]
    if not asked.inside:
        if shutil.which("unshare") is None or subprocess.run([*around, "true"], check=False).returncode:
            sys.exit("not tried: nothing can be mounted here")
        sys.exit(
            subprocess.run([*around, sys.executable, "-m", "tests.faults.full", *sys.argv[1:], _INSIDE]).returncode
        )
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], check=True)
        try:
            wrong = work(Path(folder), asked.number, asked.seed)
        finally:
            subprocess.run(["umount", folder], check=True)
    for line in wrong:
        print(f"WRONG: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
