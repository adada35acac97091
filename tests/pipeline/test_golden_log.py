"""A workspace as the version of 2026-11-23 left it is read, verified and carried on by today's.

tests/golden/private-1.zip was written by that version: a private job `sort` (two runs; done, copied, failed, ignored
and unpacked documents; one erased, one held), a job `open` that is not private, and records that were handed over,
among them one that is not taken any more. Its private entries have sizes and counts in the clear, its parts no salt.
"""

import zipfile
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import audit
import pipeline
from pipeline import Limits, RunPlan, Site
from pipeline.outbox.schema import SALT
from pipeline.plan import Retention
from pipeline.records.entries import read_entries
from tests.pipeline.conftest import Witness, make_plan

GOLDEN = Path(__file__).parent.parent / "golden" / "private-1.zip"
ROOT = "9516b3c0dcf18256f9dc2f6129ba132e8ab2a8ead11da58a0b5fb6cd119c8152"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    root = tmp_path / "workspace"
    with zipfile.ZipFile(GOLDEN) as packed:
        packed.extractall(root)
    key = root / "keys" / "log.key"
    key.chmod(0o600)
    for folder in (root / "keys", root / "private", root / "private" / "sort"):
        folder.chmod(0o700)
    return Site(root, "test.example/log", key, audit.public_key_of(key), Limits(seconds=20), 10_000_000)


@pytest.fixture
def plan(site: Site, tiny_model: Path) -> RunPlan:
    return replace(make_plan(site, tiny_model), private=True)


def test_it_is_whole_and_complete(site: Site) -> None:
    report = pipeline.verify(site)
    assert (report.size, report.root.hex(), report.complete) == (34, ROOT, True)
    checked = {kind: count for kind, count in report.checked.items() if count}
    assert checked == {"parts": 3, "rows": 8, "markdown": 6, "archived": 6, "failed": 1, "deleted": 1}
    assert report.notes == ("entry 32, exported, was handed over, so it proves nothing",)


def test_its_private_entries_are_opened_as_ever(site: Site) -> None:
    (entry,) = [e for e in pipeline.story(site, "Frida.txt").entries if isinstance(e, pipeline.records.Document)]
    assert (entry.path, entry.size, entry.closed) == ("Frida.txt", 20, ())
    assert [hold.reason for hold in pipeline.holds(site)] == ["case 12"]
    with pytest.raises(LookupError):
        pipeline.story(site, "Bernd.txt")
    closed = [entry.said for entry in read_entries(site) if entry.closed]
    assert [(entry["n"], entry["size"], entry["document"]) for entry in closed] == [(7, 27, None)]


def test_runs_erasures_and_rules_go_on_with_it(plan: RunPlan) -> None:
    site, body = plan.site, b"Frida leases a flat."
    (plan.input.folder / "Frida.txt").write_bytes(body)
    (plan.input.folder / "Gustav.txt").write_bytes(b"Gustav leases a flat, too.")
    assert pipeline.run(plan, observer=Witness()).counts["failed"] == 0
    pipeline.erase(site, "post.zip", "asked for", archive=True, rows=True)
    (part,) = [path for path in plan.outbox.glob("*.parquet") if "192933Z" in path.name]
    assert SALT.encode() in pq.read_schema(part).metadata, "what is left of an old part gets a salt"
    assert pipeline.verify(site).complete
    pipeline.release(site, "Anna.txt", None, "closed")
    pipeline.run(replace(plan, retention=Retention(0, 0)), observer=Witness())
    assert not list(plan.outbox.glob("*.parquet"))
    report = pipeline.verify(site)
    assert (report.complete, len(report.notes)) == (True, 1)
    assert audit.verify(site.audit, site.public_key).sound
