"""Checks of a workspace: site.yaml, job files, file systems and disks, the latency of syncs."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import audit
import pipeline
from jobs.config.load import load_job, shown
from jobs.config.plan import refusal_of
from jobs.config.workspace import job_files_in
from jobs.errors import ConfigError
from jobs.trust.finding import Found, found_or, ok, problem, shown_bytes, stop, warning
from jobs.trust.needs import disks_of, is_nearly_full
from jobs.trust.patient import Patient
from jobs.visible import one_line

_REST = "What depends on site.yaml (models of jobs, key and log) was not looked at."
_COMMITTED = ("outbox", "archive", "failed", "state")
_MEMORY = frozenset({"tmpfs", "ramfs"})
_LAYERS = frozenset({"overlay", "aufs"})
_WITHOUT_MODES = frozenset({"vfat", "exfat", "msdos"})
_MOVE = "move the workspace to a local disk (ext4, XFS), with nothing running meanwhile"
_FILES = 10_000
_ROUNDS, _SECONDS, _BYTES = 40, 4.0, 4096
SYNCS = 5
"""The syncs of a commit of some entries: their segment, a tile and its folder, the checkpoint and its folder
(audit/log.py)."""
_SLOW_MS, _WORST_MS = 20.0, 2_000.0
_TOO_FAST_MS = 0.01
"""No disk has a block in so short a time: what answers so has only taken note."""


def _of_problems(error: ConfigError) -> Iterator[Found]:
    for each in error.problems:
        place = ":".join(str(part) for part in (each.where, each.line, each.column) if part is not None)
        expected = f"; expected {each.expected}" if each.expected else ""
        remedy = each.remedy or "correct it there; configs/README.md has every key"
        yield problem(one_line(f"{place}: {each.found}{expected}."), one_line(remedy))


def site(patient: Patient) -> Iterator[Found]:
    """Tell the mistakes of site.yaml, and what could not be looked at for them."""
    if patient.workspace is not None:
        origin = patient.workspace.site.log.origin
        yield ok(f"site.yaml can be read; the log is {origin}.", origin=origin)
        return
    assert patient.wrong is not None
    yield from _of_problems(patient.wrong)
    yield problem(_REST, "mend that first, and give the command again")


def jobs(patient: Patient) -> Iterator[Found]:
    """Tell what is wrong with each job: whether it can be planned, and its model is there and may be used. `cloister
    check` looks closer, at each model."""
    files = job_files_in(patient.place)
    found = [finding for path in files for finding in _of_job(patient, path)]
    if patient.workspace is not None:
        for path in patient.workspace.other_files():
            found.append(warning(f"{shown(path)} is no job: job files end in .yaml.", "rename it, or move it away"))
        found += _unread(patient, files)
        found += _unseen(patient)
    told, there = ("1 job", "its model is") if len(files) == 1 else (f"{len(files):,} jobs", "their models are")
    in_order = f"{told} can be planned, and {there} there." if patient.workspace else f"{told} can be read."
    yield from found_or(found, in_order if files else "There is no job.", jobs=[path.stem for path in files])


def _of_job(patient: Patient, path: Path) -> Iterator[Found]:
    try:
        planned = patient.jobs[path] if patient.workspace else load_job(path)
        if isinstance(planned, Exception):
            raise planned
        if isinstance(planned, tuple) and (refused := _refusal(patient, planned[1])):
            yield problem(f"{path.stem}: {one_line(refused)}.", "cloister check tells all that is wrong with a job")
    except ConfigError as error:
        yield from _of_problems(error)
    except OSError as error:
        yield problem(f"{shown(path)}: {error.filename}: {error.strerror}.", "let the user who runs Cloister read it")


def _refusal(patient: Patient, plan: pipeline.RunPlan) -> str | None:
    """Why the model would be refused; by the log too, unless it cannot be read, which its own check tells."""
    try:
        return refusal_of(plan, patient.register)
    except audit.AuditError:
        return refusal_of(plan, None)


def _unread(patient: Patient, files: Sequence[Path]) -> Iterator[Found]:
    """Tell what lies in inbox/ where no job looks. A job that cannot be planned is taken to read its usual folder."""
    inbox = patient.place.resolve() / "inbox"
    read = {inbox / path.stem for path in files} | {plan.input.folder.resolve() for _, plan in patient.plans()}
    if not os.access(inbox, os.R_OK | os.X_OK, effective_ids=True) or not inbox.is_dir():
        return  # whoever may not look there need not know
    for path in sorted(inbox.iterdir()):
        if path.name.startswith(".") or any(path == each or path in each.parents or inbox == each for each in read):
            continue
        if path.is_file() or next((each for each in path.rglob("*") if each.is_file()), None):
            where = shown(patient.place / "inbox" / path.name)
            yield warning(f"{where} lies there, and no job reads it.", "move it into the folder of a job")


def _unseen(patient: Patient) -> Iterator[Found]:
    """Tell of input folders in which another machine may still write to a file that is taken."""
    for job, plan in patient.plans():
        if kind := pipeline.paths.shared_with(plan.input.folder, patient.root / "proc/self/mountinfo"):
            sentence = f"{job.name}: {shown(plan.input.folder)} lies on {kind}, where nobody sees another machine write"
            seconds = f"files are taken when they were still for {plan.input.settle_seconds:g} s"
            remedy = "let whole files be renamed into it, or put _READY or manifest.sha256 there last"
            yield warning(f"{sentence}: {seconds}.", remedy)


def filesystem(patient: Patient) -> Iterator[Found]:
    """Tell the kinds of file systems below the log and below what is committed, and what is wrong with each: a log on a
    share, or in memory, is no log."""
    mounts = patient.root / "proc/self/mountinfo"
    folders = {name: patient.place / name for name in ("audit", *_COMMITTED)}
    kinds = {name: audit.file_system_of(folder, mounts) for name, folder in folders.items()}
    others = sorted({kinds[name] for name in _COMMITTED} - {kinds["audit"]})
    found = list(_of_log(folders["audit"], kinds["audit"]))
    for kind in others:
        names = ", ".join(f"{shown(folders[name])}/" for name in _COMMITTED if kinds[name] == kind)
        if audit.is_network(kind):
            sentence = f"{names} lie on a network share ({kind}): a commit is only as sure as the server's disk is."
            found.append(warning(sentence, "keep them on a local disk, and copy results away after the night"))
        elif kind in _MEMORY:
            sentence = f"{names} lie in memory ({kind}), and are gone when the machine stops."
            found.append(problem(sentence, _MOVE))
    told = f"; other folders on {', '.join(others)}" if others else ", as do its other folders"
    yield from found_or(found, f"The log lies on {kinds['audit']}, a local disk{told}.", kinds=kinds)


def _of_log(folder: Path, kind: str) -> Iterator[Found]:
    if audit.is_network(kind):
        sentence = f"{shown(folder)} lies on a network share ({kind}), where two machines could both write the log."
        yield stop(f"{sentence} No run is begun.", _MOVE)
    elif kind in _MEMORY:
        yield problem(f"{shown(folder)} lies in memory ({kind}), and is gone when the machine stops.", _MOVE)
    elif kind in _WITHOUT_MODES:
        sentence = f"{shown(folder)} lies on {kind}, which knows no owners: nothing keeps others from the log."
        yield problem(sentence, _MOVE)
    elif kind in _LAYERS:
        sentence = f"{shown(folder)} lies in a layer of a container ({kind}), and is gone with the container."
        yield warning(sentence, "mount a volume of the host there")
    if folder.is_dir() and os.statvfs(folder).f_flag & os.ST_RDONLY:
        yield stop(f"{shown(folder)} lies on a file system that is mounted read-only.", "mount it for writing")


def disk(patient: Patient) -> Iterator[Found]:
    """Tell each disk of the workspace, and that of the engine's cache, that is nearly full, of bytes or of files; or
    how much room there is."""
    disks = list(disks_of(patient.folder)) if patient.folder else []
    cache = patient.machine.kernels.parent
    found = [finding for folder in disks for finding in _of_disk(folder)]
    usage = shutil.disk_usage(cache)
    if cache.stat().st_dev not in {folder.stat().st_dev for folder in disks} and is_nearly_full(
        usage.total, usage.free
    ):
        sentence = f"The disk of the engine's cache {cache} is nearly full: {shown_bytes(usage.free)} are free."
        remedy = "make room: weights are kept there once more, as they are computed; or set CLOISTER_CACHE"
        found.append(warning(sentence, remedy))
    first = disks[0] if disks else cache
    usage = shutil.disk_usage(first)
    told = f"{shown_bytes(usage.free)} of {shown_bytes(usage.total)} are free on the disk of {first}."
    yield from found_or(found, told, total=usage.total)


def _of_disk(folder: Path) -> Iterator[Found]:
    usage, files = shutil.disk_usage(folder), os.statvfs(folder)
    if is_nearly_full(usage.total, usage.free):
        sentence = f"The disk of {folder} is nearly full: {shown_bytes(usage.free)} are free."
        yield problem(sentence, "make room, or let retention: in jobs delete what need not be kept")
    if files.f_files and files.f_favail < _FILES:
        sentence = f"The disk of {folder} has room for {files.f_favail:,} more files only."
        yield problem(sentence, "remove files, or make the file system anew with more inodes")


def sync(patient: Patient) -> Iterator[Found]:
    """Measure how long a commit waits until the disk of the log says that it has everything; tell the median and the
    worst with what they mean."""
    yield judged(measure(patient.place), patient.place)


def measure(folder: Path) -> list[float]:
    """Milliseconds of fsync after appending a block, many times, on the file system of the log of a workspace. The file
    lies beside the log, and without a name in its folder where that is another file system. OSError."""
    audit, state = folder / "audit", folder / "state"
    device = audit.stat().st_dev
    beside = next((each for each in (state, folder) if each.is_dir() and each.stat().st_dev == device), None)
    if beside is None:
        fd = os.open(audit, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb", buffering=0) as file:
            return _measure(file.fileno())
    with tempfile.NamedTemporaryFile(prefix=".doctor-", dir=beside, buffering=0) as named:
        return _measure(named.fileno())


def _measure(fd: int) -> list[float]:
    taken: list[float] = []
    end = time.monotonic() + _SECONDS
    while len(taken) < _ROUNDS and (not taken or time.monotonic() < end):
        os.write(fd, bytes(_BYTES))
        start = time.perf_counter()
        os.fsync(fd)
        taken.append((time.perf_counter() - start) * 1e3)
    return taken


def judged(taken: list[float], folder: Path) -> Found:
    """What the milliseconds of syncs mean for the commits of a log."""
    middle, worst = median(taken), max(taken)
    figures = {"median_ms": round(middle, 3), "worst_ms": round(worst, 3)}
    told = f"A sync on the disk of {shown(folder / 'audit')} takes {middle:.2f} ms (median of {len(taken)}), at worst "
    told += f"{worst:.2f} ms; a commit has about {SYNCS} of them, {middle * SYNCS:.0f} ms"
    if middle < _TOO_FAST_MS:
        sentence = f"{told}. That is faster than any disk: a commit that is told as done may be lost at a power cut."
        remedy = "keep the log on a disk that honours fsync (not in memory, nor with eatmydata or cache=unsafe)"
        return warning(sentence, remedy, **figures)
    if middle > _SLOW_MS or worst > _WORST_MS:
        remedy = "keep the log on an SSD, or let other work on this disk pause at night; larger parts commit less often"
        return warning(f"{told}. Commits are slow here.", f"{remedy} (output.part_documents)", **figures)
    return ok(f"{told}.", **figures)
