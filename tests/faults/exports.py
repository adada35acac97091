"""Give hostile exports to verify.py, and hostile proofs to `audit check`, again and again.

    python -m tests.faults.exports [--count 100000] [--seed 20261123] [--only NUMBER] [--processes N]

None may end with 0 that differs from what was exported, nor with 3 unless it has no export.proof, and log and records
as they were exported; none may last longer than 10 s, end with an exception, or write a control character.
"""

import argparse
import contextlib
import functools
import io
import multiprocessing
import os
import random
import shutil
import signal
import stat
import sys
import tempfile
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import chain
from pathlib import Path

import typer

import audit
import pipeline
from audit import standalone
from audit.sign import open_signer
from jobs.cli.audit_verify import check
from jobs.cli.printing import show
from jobs.errors import ConfigError
from tests.faults.forging import Forger, forge, names_of, odd_proof
from tests.pipeline.conftest import make_site
from tests.pipeline.proof.export.conftest import rotated
from tests.pipeline.proof.export.logs import DAYS, fill

SECONDS = 10
_SIZES = {"small": (2, 3, 2), "rotated": (9, 9, 9), "wide": (260, 260, 3)}
"""Entries a day; the second day is exported."""
_WEIGHTS = {"small": 70, "rotated": 28, "wide": 2}


class LateError(BaseException):
    """It lasted too long; no handler of the code under test takes it for something else."""


@dataclass(frozen=True)
class Victim:
    """A folder with exports and a proof by one key, a kept checkpoint of each, and the key of a stranger."""

    root: Path
    keys: dict[str, tuple[str, ...]]

    def moved(self, root: Path) -> "Victim":
        """A copy, for another process."""
        return Victim(Path(shutil.copytree(self.root, root)), self.keys)


def make_victim(root: Path) -> Victim:
    """The exports of three logs: two with one key, one with two."""
    keys = {}
    root.mkdir()
    for name, counts in _SIZES.items():
        site = make_site(root / f"{name}-ws")
        fill(site, dict(zip(DAYS, counts, strict=True)))
        shutil.copy(site.audit / "checkpoint", root / f"{name}.kept")
        site = rotated(site) if name == "rotated" else site
        pipeline.export(site, root / name, date(2026, 11, 2), date(2026, 11, 2))
        (root / f"{name}.proof").write_text(audit.prove(site.audit, site.public_key, 2))
        shutil.copy(site.key_file, root / f"{name}.key")
        keys[name] = (site.public_key, *audit.key_history(site.audit, site.public_key))
        shutil.rmtree(site.root)
    audit.generate_key(root / "stranger.key", "test.example/log")
    return Victim(root, keys)


@dataclass(frozen=True)
class Ending:
    """The exit code, or the exception that was none of the expected; what was written; how long it took."""

    code: int | str
    written: str
    seconds: float


def _checked(file: Path, key: str) -> int:
    """`cloister audit check`, and its exit code."""
    answer = check(file, key)
    show(answer, as_json=False)
    return int(answer.code)


def ending_of(run: functools.partial[int | None]) -> Ending:
    """Run it here, for so many seconds at most."""
    begun, code, out = time.monotonic(), -1, io.StringIO()
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run() or 0
    except (SystemExit, typer.Exit) as end:
        told = end.exit_code if isinstance(end, typer.Exit) else end.code
        code = told if isinstance(told, int) else -1
    except ConfigError:
        code = 2
    except LateError:
        return Ending("lasted too long", out.getvalue(), SECONDS)
    except Exception as error:  # whatever it is, it is what this looks for
        return Ending(f"{type(error).__name__}: {error}", out.getvalue(), time.monotonic() - begun)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return Ending(code, out.getvalue(), time.monotonic() - begun)


def _late(number: int, frame: object) -> None:
    raise LateError


def judge_export(before: Path, after: Path, ending: Ending) -> str | None:
    """What is wrong with how it ended; None if nothing is."""
    if (fault := _judge_ending(ending, {1, 2})) is None or ending.code not in (0, 3):
        return fault
    told, found = _content(before), _content(after)
    if ending.code == 0:
        return "TAKEN FOR WHOLE" if told != found else _unless_plain(ending)
    if "export.proof" in found:
        return "TAKEN FOR WHOLE without its proof, which is there"
    proved = {name for name in (*told, *found) if name.startswith("log/")} | {"records.jsonl", "keys/log.pub"}
    wrong = any(told.get(name) != found.get(name) for name in proved)
    return "LOG OR RECORDS TAKEN FOR WHOLE" if wrong else _unless_plain(ending)


def judge_proof(before: bytes, after: bytes, ending: Ending) -> str | None:
    """The same for a proof."""
    if ending.code == 0:
        return "TAKEN FOR A PROOF" if before != after else _unless_plain(ending)
    return _judge_ending(ending, {2, 4})


def _judge_ending(ending: Ending, codes: set[int]) -> str | None:
    return _unless_plain(ending) if ending.code in codes else f"ENDED WITH {ending.code}"


def _unless_plain(ending: Ending) -> str | None:
    odd = [
        char for char in ending.written if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]
    return f"WROTE {odd[0]!r}" if odd else None


def _content(folder: Path) -> dict[str, bytes | None]:
    """Each file with its bytes, and None for what is no regular file."""
    paths = {name: folder / name for name in names_of(folder)}
    return {name: path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None for name, path in paths.items()}


def attack(victim: Victim, seed: int, numbers: Iterable[int]) -> Iterator[tuple[int, str, str, str, float]]:
    """(number, what was done, how it ended, what is wrong with that or nothing, seconds) of each."""
    standalone.is_signed = functools.lru_cache(standalone.is_signed)  # a pure function, and the slowest
    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        name = rng.choices([*_WEIGHTS], [*_WEIGHTS.values()])[0]
        one = _attack_proof if rng.random() < 0.1 else _attack_export
        done, ending, fault = one(victim, name, rng)
        yield number, done, str(ending.code), fault or "", ending.seconds


def _attack_export(victim: Victim, name: str, rng: random.Random) -> tuple[str, Ending, str | None]:
    before, after = victim.root / name, victim.root / "forged"
    shutil.rmtree(after, ignore_errors=True)
    shutil.copytree(before, after)
    stranger = open_signer(victim.root / "stranger.key")
    done = forge(Forger(after, open_signer(victim.root / f"{name}.key"), stranger), rng)
    arguments = ["--key", rng.choice(victim.keys[name]), str(after)]
    if rng.random() < 0.5:
        arguments += ["--against", str(victim.root / f"{name}.kept")]
    ending = ending_of(functools.partial(standalone.main, arguments))
    return done, ending, judge_export(before, after, ending)


def _attack_proof(victim: Victim, name: str, rng: random.Random) -> tuple[str, Ending, str | None]:
    before, file = (victim.root / f"{name}.proof").read_bytes(), victim.root / "forged.proof"
    file.write_bytes(odd_proof(rng, before))
    ending = ending_of(functools.partial(_checked, file, victim.keys[name][0]))
    return "a proof given to audit check", ending, judge_proof(before, file.read_bytes(), ending)


def _work(task: tuple[Victim, Path, int, range]) -> list[tuple[int, str, str, str, float]]:
    victim, folder, seed, numbers = task
    mine = victim.moved(folder / str(numbers.start))
    try:
        return list(attack(mine, seed, numbers))
    finally:
        shutil.rmtree(mine.root)


def main() -> None:
    """Attack, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first, to go on from")
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--only", type=int, help="this one alone")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    asked = parser.parse_args()
    first, count = (asked.first, asked.count) if asked.only is None else (asked.only, 1)
    numbers = range(first, first + count)
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    begun, counts, bad, longest = time.monotonic(), defaultdict[str, Counter[str]](Counter), 0, 0.0
    with tempfile.TemporaryDirectory(prefix="exports-", dir=shared) as place:
        victim = make_victim(Path(place, "victim"))
        tasks = [(victim, Path(place), asked.seed, numbers[at : at + 200]) for at in range(0, len(numbers), 200)]
        with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
            for number, done, ended, fault, seconds in chain.from_iterable(pool.imap(_work, tasks)):
                counts[done.split(",")[0]][ended] += 1
                longest = max(longest, seconds)
                bad += bool(fault)
                if fault or asked.only is not None:
                    print(f"{number}: {done}: ended with {ended}: {fault}", flush=True)
    for done, ends in sorted(counts.items()):
        told = ", ".join(f"{n:,} with {code}" for code, n in sorted(ends.items()))
        print(f"{ends.total():>7,} {done:<45} {told}")
    print(f"{count:>7,} in {time.monotonic() - begun:.0f} s, the longest {longest:.2f} s; {bad} wrong")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
