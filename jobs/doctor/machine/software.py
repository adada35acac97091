"""Kernel, C library and Python, against what Cloister and its installed packages need."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata

import pipeline
from jobs.doctor.base import Figures, Finding, Needs, ok, problem, warning
from jobs.doctor.compared import same
from jobs.doctor.patient import Patient

NEEDS = Needs.MACHINE
FIGURES: Figures = {"host": same, "kernel": same, "glibc": same, "python": same, "cloister": same}
_NEWEST = (3, 13)
"""The newest Python for which all that is pinned is there."""
_TAG = re.compile(r"manylinux_(\d+)_(\d+)_x86_64$")


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell the versions, and what does not fit."""
    version = platform.python_version()
    glibc, newest, package = glibc_here(), *glibc_needed(metadata.distributions())
    figures = {
        "host": os.uname().nodename,
        "kernel": os.uname().release,
        "glibc": ".".join(map(str, glibc)) if glibc else None,
        "python": f"{platform.python_implementation()} {version}",
        "cloister": pipeline.label(),
    }
    told = f"Linux {figures['kernel']}, glibc {figures['glibc']}, {figures['python']}"
    if glibc is None:
        remedy = "use a Linux with glibc, such as Debian, Ubuntu, RHEL or SUSE; Alpine has musl"
        yield problem("The C library is not glibc, for which the packages are made.", remedy, **figures)
    elif glibc < newest:
        needed = ".".join(map(str, newest))
        sentence = f"glibc is {figures['glibc']}, but the package {package} was made for {needed} or later."
        yield problem(sentence, "install Cloister on this machine anew, not by a copy of another one's", **figures)
    elif sys.version_info[:2] > _NEWEST:
        remedy = f"use Python 3.11 to {'.'.join(map(str, _NEWEST))}"
        yield warning(f"{told}: this Python is newer than those that were tested.", remedy, **figures)
    else:
        yield ok(f"{told}; the packages need glibc {'.'.join(map(str, newest))}.", **figures)


def glibc_here() -> tuple[int, int] | None:
    """The version of the C library that runs; None if it is not glibc (confstr(3))."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except ValueError:
        return None
    major, _, minor = version.partition(".")
    return (int(major), int(minor.split(".")[0])) if name == "glibc" else None


def glibc_needed(installed: Iterable[metadata.Distribution]) -> tuple[tuple[int, int], str]:
    """The glibc that the most demanding package was made for, by the tags of its wheel, and that package."""
    needs = [(least, each.name) for each in installed if (least := _least(each.read_text("WHEEL") or ""))]
    return max(needs, default=((0, 0), ""))


def _least(wheel: str) -> tuple[int, int] | None:
    """The oldest glibc that one wheel is for: of several tags each is true."""
    found = [_TAG.search(line.strip()) for line in wheel.splitlines() if line.startswith("Tag:")]
    return min(((int(each[1]), int(each[2])) for each in found if each), default=None)
