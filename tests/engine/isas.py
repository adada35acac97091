"""Which instruction sets tests compare: in `make test` the best of this processor, in `make torture` all that it has.

Each other one costs a minute or two of compiling. What all of them mean, plain Python, is compared in `make test` too,
at tiny sizes.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine.cpu import ISAS
from tests.thorough import ALL

COMPARED: tuple[str, ...] = tuple(ISAS) if ALL else (engine.isa(),)
ROOT = Path(__file__).parents[2]


def need(isa: str) -> None:
    """Skip the test on a processor that lacks something of this instruction set."""
    if missing := ISAS[isa] - set(Path("/proc/cpuinfo").read_text().split()):
        pytest.skip(f"this processor lacks {', '.join(sorted(missing))}")


def usable(isa: str) -> None:
    """Skip the test where kernels of this process cannot be of this instruction set: they are compiled for one set, and
    may use those of the sets after it."""
    need(isa)
    if list(ISAS).index(isa) < list(ISAS).index(engine.isa()):
        pytest.skip(f"kernels are compiled for {engine.isa()} here")


def said_everywhere(*arguments: str) -> set[str]:
    """What Python with these arguments prints on each compared instruction set, with one thread and with two."""
    flags, found = set(Path("/proc/cpuinfo").read_text().split()), set[str]()
    for isa in COMPARED:
        for threads in ("1", "2") if ISAS[isa] <= flags else ():
            settings = {"CLOISTER_ISA": isa, "CLOISTER_THREADS": threads, "PYTHONHASHSEED": threads}
            done = subprocess.run(
                [sys.executable, *arguments], env=os.environ | settings, cwd=ROOT, text=True, check=True,
                stdout=subprocess.PIPE,
            )  # fmt: skip
            found.add(done.stdout)
    return found
