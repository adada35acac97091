"""Logs to be exported, and what checks an export."""

import io
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import audit
from audit import standalone
from pipeline import Site

DAYS = ("2026-11-01", "2026-11-02", "2026-11-03")


def document(i: int, **more: object) -> dict[str, object]:
    return {
        "type": "document", "run": "r", "job": "sort", "path": f"<b>{i}</b> ä.pdf", "document": f"{i:064x}", "size": i,
        "state": "done", "reason": None, "score": 1e-7, "model": "m", "model_sha256": "0" * 64, **more,
    }  # fmt: skip


def fill(site: Site, counts: dict[str, int]) -> None:
    """A log with so many entries a day."""
    uptime = 0
    for day, count in counts.items():
        uptime += 86_400_000_000
        stamp = audit.Stamp(f"{day}T12:00:00.000000Z", "boot", uptime, "host", "user")
        with audit.Log.open(
            site.audit, key_path=site.key_file, public_key=site.public_key, stamp=lambda now=stamp: now
        ) as log:
            log.commit([document(i, day=day) for i in range(count)])


def without_key(site: Site) -> Site:
    """The same workspace for somebody who has not the log's key, and hence cannot write it."""
    return replace(site, key_file=site.root / "keys" / "nothing")


def check(folder: Path, *arguments: object) -> tuple[int, str]:
    """Exit code and output of the verifier that this package has, not of the one in the folder."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = standalone.main([*map(str, arguments), str(folder)])
    return code, out.getvalue()


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
