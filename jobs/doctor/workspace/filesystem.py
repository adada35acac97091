"""The kinds of file systems that the workspace lies on: a log on a share, or in memory, is no log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import audit
from jobs.doctor.base import Figures, Finding, Needs, found_or, problem, stop, warning
from jobs.doctor.compared import same
from jobs.doctor.patient import Patient
from jobs.load import shown

NEEDS = Needs.FOLDER
FIGURES: Figures = {"kinds": same}
_COMMITTED = ("outbox", "archive", "failed", "state")
_MEMORY = frozenset({"tmpfs", "ramfs"})
_LAYERS = frozenset({"overlay", "aufs"})
_WITHOUT_MODES = frozenset({"vfat", "exfat", "msdos"})
_MOVE = "move the workspace to a local disk (ext4, XFS), with nothing running meanwhile"


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell the kind below the log and below what is committed, and what is wrong with each."""
    mounts = patient.root / "proc/self/mountinfo"
    folders = {name: patient.place / name for name in ("audit", *_COMMITTED)}
    kinds = {name: audit.file_system_of(folder, mounts) for name, folder in folders.items()}
    found = [*_of_log(folders["audit"], kinds["audit"]), *_of_committed(folders, kinds)]
    told = f"The log lies on {kinds['audit']}, a local disk{_others(kinds)}."
    yield from found_or(found, told, kinds=kinds)


def _of_log(folder: Path, kind: str) -> Iterator[Finding]:
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
    if _is_read_only(folder):
        yield stop(f"{shown(folder)} lies on a file system that is mounted read-only.", "mount it for writing")


def _of_committed(folders: dict[str, Path], kinds: dict[str, str]) -> Iterator[Finding]:
    """What is wrong with the folders of results, unless it is told of the log already."""
    for what in sorted({kinds[name] for name in _COMMITTED} - {kinds["audit"]}):
        names = ", ".join(f"{shown(folders[name])}/" for name in _COMMITTED if kinds[name] == what)
        if audit.is_network(what):
            sentence = f"{names} lie on a network share ({what}): a commit is only as sure as the server's disk is."
            yield warning(sentence, "keep them on a local disk, and copy results away after the night")
        elif what in _MEMORY:
            yield problem(f"{names} lie in memory ({what}), and are gone when the machine stops.", _MOVE)


def _is_read_only(folder: Path) -> bool:
    return folder.is_dir() and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _others(kinds: dict[str, str]) -> str:
    """The other kinds, if there are any."""
    others = sorted({kinds[name] for name in _COMMITTED} - {kinds["audit"]})
    return f"; other folders on {', '.join(others)}" if others else ", as do its other folders"
