"""Every type of record: its JSON form in both directions, to the byte, and entries of earlier versions."""

from dataclasses import MISSING, fields
from typing import Any

import pytest

import audit
from pipeline.records.entries import Untold, from_json, meaning
from pipeline.records.types import KINDS, Document, Erased, LogExported, ReadResults, Record, members_of
from tests.pipeline.records.samples import sample

COMMON = {each.name for each in fields(Record)}
ENTRY = {"v": 1, "n": 7, "time": "2026-11-20T22:00:00.000000Z", "boot": "b", "uptime_us": 1, "host": "h", "user": "u"}


def said(kind: type[Record], **more: Any) -> dict[str, Any]:
    members = {name: sample(each) for name, each in members_of(kind).items()}
    return {"type": kind.TYPE, "run": "r", "job": "sort"} | members | more


@pytest.mark.parametrize("name", KINDS)
def test_its_json_is_read_and_written_to_the_byte(name: str) -> None:
    kind = KINDS[name]
    written = said(kind)
    record = from_json(written)
    assert type(record) is kind
    assert (record.type, record.run, record.job) == (name, "r", written["job"])
    assert audit.canonical(record.to_json()) == audit.canonical(written)
    assert from_json(audit.parse_canonical(audit.canonical(record.to_json()))) == record
    read = from_json(written | ENTRY)
    assert read == record
    assert (read.n, read.time, read.user, read.host) == (7, ENTRY["time"], "u", "h")


@pytest.mark.parametrize("name", KINDS)
def test_what_may_be_missing_may_and_what_must_be_there_must(name: str) -> None:
    kind = KINDS[name]
    written = said(kind)
    optional = {
        each.metadata.get("member", each.name)
        for each in fields(kind)
        if each.name not in COMMON and (each.default is not MISSING or each.default_factory is not MISSING)
    }
    least = {member: value for member, value in written.items() if member not in optional}
    assert from_json(least | ENTRY | {"later": [1]}).to_json().keys() >= least.keys()
    for missing in least.keys() & members_of(kind).keys():
        with pytest.raises(ValueError, match=f"no member '{missing}'"):
            from_json({each: value for each, value in least.items() if each != missing})


def test_a_record_is_written_with_its_members_alone() -> None:
    erased = from_json(said(Erased, rows=[{"file": "p", "part": 1, "sha256": "s", "entries": [2, 3]}], later=1) | ENTRY)
    assert isinstance(erased, Erased)
    assert erased.rows[0].entries == (2, 3)
    assert erased.to_json().keys() == {"type", "run", "job", *members_of(Erased)}
    assert erased.said["later"] == 1
    shown = ReadResults(of_job=None, failed=False, limit=None)
    assert shown.to_json() == {"type": "read.results", "run": "", "job": None, "failed": False, "limit": None}
    exported = LogExported(since="a", before="b", first=0, end=1, export_sha256="0")
    assert exported.to_json()["from"] == "a"


def test_it_gets_run_and_job_once() -> None:
    part = KINDS["placed"](file="p")  # type: ignore[call-arg]
    mine = part.made_by("r", "sort")
    assert (mine.run, mine.job) == ("r", "sort")
    assert mine.made_by("s", "other") is mine


def test_what_is_not_known_or_was_forged_is_told_as_it_is() -> None:
    unknown = from_json({"type": "hold.renewed", "run": "", "what": 1} | ENTRY)
    assert isinstance(unknown, Untold)
    assert (unknown.type, unknown.forged, unknown.said["what"], unknown.n) == ("hold.renewed", False, 1, 7)
    stamp = {"id": "0" * 32, "time": "t", "boot": "b", "uptime_us": 1, "host": "h", "user": "w"}
    forged = from_json(said(Erased, run="") | ENTRY | {"handed": stamp})
    assert isinstance(forged, Untold)
    assert (forged.type, forged.forged) == ("handed.erased", True)
    assert meaning(forged.type) == "it was handed over, so it proves nothing"
    taken = from_json(said(ReadResults, run="") | ENTRY | {"handed": stamp})
    assert taken.handed is not None
    assert (taken.handed.user, taken.handed.id) == ("w", "0" * 32)


def test_an_old_document_says_where_it_came_from() -> None:
    old = said(Document, path="a�", path_bytes="YYA=", markdown=None)
    del old["outputs"], old["replaces"], old["unread"]
    document = from_json(old | ENTRY)
    assert isinstance(document, Document)
    assert (document.replaces, document.unread, document.made_files, document.raw_path) == (None, None, (), "a\udc80")


def test_an_entry_of_a_version_that_said_less_is_read() -> None:
    refused = said(KINDS["handover.refused"])
    del refused["kept"]
    assert from_json(refused | ENTRY).to_json()["kept"] == ""
    old = said(Document)
    del old["parent"]
    document = from_json(old | ENTRY)
    assert isinstance(document, Document)
    assert document.parent is None
