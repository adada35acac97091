"""What needs a person, for `cloister status --check` and whatever watches over the machine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pipeline
from jobs.config.load import shown
from jobs.config.workspace import FOLDERS, Workspace
from jobs.trust.finding import Found
from jobs.visible import moment

_LEAST: Final = 256 << 20
"""Bytes below which a disk is nearly full, whatever its size."""
_SHARE: Final = 20
_MOST: Final = 10 << 30
"""Bytes at and above which none is, whatever its size."""


@dataclass(frozen=True)
class Need:
    """A thing that needs a person. `kind`: broken, refused, failed, cut_off, not_served, not_verified, stopped or disk;
    `job`: None of what concerns the whole site."""

    kind: str
    job: str | None
    sentence: str


def needs(
    workspace: Workspace,
    jobs: Sequence[Mapping[str, Any]],
    stops: Sequence[Found],
    checked: pipeline.proof.LastVerified,
) -> list[Need]:
    """All things that need a person: those of the jobs, as `cloister status --json` tells of them, then the site's, of
    which `stops` keep all runs from beginning."""
    found = [need for job in jobs for need in _of_job(job)]
    found += [Need("stopped", None, f"{each.evidence} {each.remedy}.") for each in stops]
    if overdue := checked.overdue(workspace.site.log.verify_days, datetime.now(UTC)):
        found.append(Need(pipeline.proof.NOT_VERIFIED, None, overdue))
    for folder in disks_of(workspace.root):
        usage = shutil.disk_usage(folder)
        if is_nearly_full(usage.total, usage.free):
            sentence = f"The disk of {shown(folder)} is nearly full: {usage.free / 2**20:,.0f} MiB are free."
            found.append(Need("disk", None, sentence))
    return found


def _of_job(job: Mapping[str, Any]) -> Iterator[Need]:
    name, last = job["job"], job["last_run"]
    if job.get("not_served"):
        yield Need("not_served", name, f"No `cloister serve` runs, and the start of {job['not_served']} was not made.")
    if job["state"] == "broken":
        yield Need("broken", name, f"The job cannot be run: {_joined(job['problems'])}")
    elif job["refused"]:
        yield Need("refused", name, f"The job is refused: {_joined(job['refused'])}")
    if last is None:
        return
    failed = last["counts"].get("failed", 0)
    match last["state"]:
        case "refused" if not job.get("refused"):
            yield Need("failed", name, f"The last run was refused: {last['reason']}")
        case "stopped":
            yield Need("failed", name, "A full disk stopped the last run.")
        case "unfinished":
            yield Need(
                "cut_off", name, f"The run begun at {moment(last['started_at'])} did not end; the next one goes on."
            )
        case _ if failed:
            documents = "1 document" if failed == 1 else f"{failed:,} documents"
            yield Need("failed", name, f"{documents} failed in the last run; cloister results {name} names them.")


def _joined(problems: str) -> str:
    """Problems, each with its expectation and remedy in further lines, as one line."""
    return re.sub(r"\n\s*(?:(expected|remedy):\s*)?", lambda found: f"; {found[1]}: " if found[1] else "; ", problems)


def disks_of(root: Path) -> Iterator[Path]:
    """A folder of the workspace at `root` on each disk that it lies on, those that are there."""
    seen: set[int] = set()
    for folder in (root, *(root / name for name in ("audit", *FOLDERS))):
        if folder.is_dir() and (device := folder.stat().st_dev) not in seen:
            seen.add(device)
            yield folder


def is_nearly_full(total: int, free: int) -> bool:
    """Whether so few bytes of a disk are free that a person should look: less than a twentieth, at least 256 MiB and at
    most 10 GiB."""
    return free < max(_LEAST, min(total // _SHARE, _MOST))
