"""How a workspace ended: what must be the same however often its runs were cut off, and what must hold in any case."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import audit
import pipeline
from tests.faults.workplace import JOB, Workplace

ROW_VARIES = {"run", "audit_index", "supersedes", "replaces", "seconds", "finished_at"}
ENTRY_VARIES = {
    "n",
    "time",
    "boot",
    "uptime_us",
    "host",
    "user",
    "run",
    "part",
    "row",
    "supersedes",
    "replaces",
    "finished_at",
    "seconds",
}
REASON_VARIES = {"run", "n", "time"}


@dataclass(frozen=True)
class End:
    """Each a mapping of a name to what must be the same: rows and entries by path, files by name."""

    rows: Mapping[str, Any]
    entries: Mapping[str, Any]
    archive: Mapping[str, str]
    failed: Mapping[str, Any]
    markdown: Mapping[str, str]


def end_of(place: Workplace) -> End:
    """What came of the documents. A path that has two rows or entries has both under its name."""
    site = place.site
    return End(
        _by_path({k: v for k, v in row.items() if k not in ROW_VARIES} for row in _all_rows(place)),
        _by_path(_entry(entry) for entry in log_of(site) if entry["type"] == "document"),
        _files(site, place.root / "archive" / JOB),
        {name: _reason(name, place) or digest for name, digest in _files(site, place.root / "failed" / JOB).items()},
        _markdown(place.root / "outbox" / JOB / "_markdown"),
    )


def log_of(site: pipeline.Site) -> Iterator[Mapping[str, Any]]:
    """All entries."""
    return (entry for _, entry in audit.read_entries(site.audit, site.public_key))


def differences(end: End, expected: End) -> list[str]:
    """A line for each name of which something else came."""
    told = []
    for each in fields(End):
        here, there = getattr(end, each.name), getattr(expected, each.name)
        for name in sorted(here.keys() | there.keys()):
            if here.get(name) != there.get(name):
                told.append(f"{each.name}: {name}: {_differ(here.get(name), there.get(name))}")
    return told


def faults_of(place: Workplace) -> list[str]:
    """A line for each thing that must not be after a run that came to its end, whatever was before."""
    told = [f"left in the inbox: {path}" for path in place.inbox.rglob("*") if path.is_file()]
    told += [f"left staged: {path}" for path in place.root.rglob(".staging/**/*")]
    checked = pipeline.verify(place.site)
    told += [
        f"verify: {said}"
        for said in (*checked.integrity, *checked.altered, *checked.added, *checked.absent, *checked.notes)
    ]
    twice = Counter(row["path"] for row in _all_rows(place))
    return told + [f"{path}: {number} rows" for path, number in twice.items() if number > 1]


def _all_rows(place: Workplace) -> Iterator[dict[str, Any]]:
    """Of all parts, also those that another row took the place of; here none should be."""
    return pipeline.results(place.site)


def _by_path(values: Iterator[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for value in values:
        found.setdefault(value["path"], []).append(value)
    return found


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Its Markdown file names run and entry, so only its name must be the same, and its own content (_markdown)."""
    same = {key: value for key, value in entry.items() if key not in ENTRY_VARIES}
    return same | {"markdown": entry["markdown"] and entry["markdown"]["file"], "first": entry["supersedes"] is None}


def _files(site: pipeline.Site, folder: Path) -> dict[str, str]:
    """The sha256 of the clear bytes of each file."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): site.at_rest.sha256(path) for path in paths}


def _reason(name: str, place: Workplace) -> dict[str, Any] | None:
    if not name.endswith(".reason.json"):
        return None
    told = json.loads((place.root / "failed" / JOB / name).read_text(encoding="utf-8"))
    return {key: value for key, value in told.items() if key not in REASON_VARIES}


def _markdown(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): _without_run(path) for path in sorted(folder.rglob("*.md")) if path.is_file()
    }


def _without_run(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith(("| run |", "| log entry |")))


def _differ(here: Any, there: Any) -> str:
    if isinstance(here, list) and isinstance(there, list) and len(here) == len(there) == 1:
        keys = [key for key in here[0] if here[0][key] != there[0].get(key)]
        return "; ".join(f"{key} is {here[0][key]!r}, expected {there[0].get(key)!r}" for key in keys)
    return f"{_short(here)}, expected {_short(there)}"


def _short(value: Any) -> str:
    return "missing" if value is None else f"{len(value)} of them" if isinstance(value, list) else str(value)[:80]
