"""The CPUs that may be used: of the machine, by affinity, by a quota, by CLOISTER_THREADS."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.doctor.base import Figures, Finding, Needs, ok, problem, warning
from jobs.doctor.compared import fewer
from jobs.doctor.patient import Patient

NEEDS = Needs.MACHINE
FIGURES: Figures = {"cpus": fewer, "threads": fewer}


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell how many threads compute, and why not more."""
    machine = patient.machine
    figures = {"cpus": machine.cpus, "threads": machine.threads}
    usable = min(machine.allowed, machine.quota or machine.allowed)
    if machine.threads is None:
        remedy = "unset CLOISTER_THREADS, or give it a number from 1 to 1024"
        yield problem("No thread computes, since CLOISTER_THREADS is refused.", remedy, **figures)
        return
    told = f"{_count(machine.threads, 'thread')} on {_count(machine.cpus, 'CPU')}"
    if machine.threads > usable:
        sentence = f"{told}, of which {usable} may be used: they wait for one another."
        yield warning(sentence, f"unset CLOISTER_THREADS, or set it to {usable}", **figures)
    elif machine.threads < usable:
        yield ok(f"{told}, of which {usable} may be used: CLOISTER_THREADS asks for less.", **figures)
    elif machine.quota is not None and machine.quota < machine.allowed:
        yield ok(f"{told}: the quota of a cgroup (CPUQuota, a container's limit) allows no more.", **figures)
    elif machine.allowed < machine.cpus:
        yield ok(f"{told}: the affinity of this process (taskset, a cpuset) allows no more.", **figures)
    else:
        yield ok(f"{told}: all of them compute.", **figures)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
