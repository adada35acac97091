"""What is kept of a long log says what the whole log says, however often and wherever it was brought up to date."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import audit
from pipeline import ModelRefusedError, revoke, run
from pipeline.plan import RunPlan, Site
from pipeline.records import index as known
from pipeline.records.current import identity
from pipeline.records.entries import read_entries
from pipeline.records.history import History, read_history
from pipeline.records.seal import write_seal
from tests.pipeline.conftest import Witness
from tests.pipeline.records.samples import completed

JOB, DIGEST = "sort", "d1"
STATES = ("done", "abstained", "review", "failed", "duplicate")
DOCUMENTS = [f"{n:064x}" for n in range(12)]
PATHS = ["a.txt", "b.txt", "ordner/Brief.pdf", "post.zip!/a.pdf", "x y.md"]


def entry(chance: random.Random, part: str) -> dict[str, Any]:
    """A document's, with what a history looks at."""
    state = chance.choice(STATES)
    told = {
        "type": "document", "run": "r", "job": chance.choice([JOB, JOB, JOB, "other"]),
        "document": chance.choice(DOCUMENTS), "path": chance.choice(PATHS), "path_bytes": None,
        "size": chance.randrange(100), "state": state,
        "job_digest": chance.choice([DIGEST, DIGEST, "d0"]), "parent": chance.choice([None, None, *DOCUMENTS[:3]]),
        "failure": "corrupt" if state == "failed" else None, "part": part,
    }  # fmt: skip
    return completed(told)


def commit(chance: random.Random, number: int) -> list[dict[str, Any]]:
    """What one commit may have."""
    run = {"run": "r", "job": JOB}
    started = {"model": "m", "model_sha256": "s", "job_file_sha256": "f", "job_digest": DIGEST}
    others: list[dict[str, Any]] = [
        {"type": "run.started", **run, **started, "duplicates": chance.choice(["skip", "process", "warn"])},
        {"type": "run.started", **run, **started, "rerun": {"size": number, "question": f"q{number}"}},
        {"type": "run.finished", **run, "interrupted": chance.random() < 0.5},
        {"type": "run.empty", **run, "seen": number},
        {"type": "settings", **run, "job_digest": chance.choice([DIGEST, "d9"])},
        {"type": "key.admitted", "run": "", "public_key": f"key {number}"},
        {"type": "inputs", **run, "state": "ignored", "reason": f"why {number % 3}", "paths": chance.sample(PATHS, 2)},
        {"type": "placed", **run, "file": f"part {max(0, number - chance.randrange(3))}"},
        {"type": "erased", "run": "", "parts": [f"part {number - 2}"], "entries": [], "failed": [], "archive": [],
         "markdown": []},
        {"type": "qualified", "run": "", "job": JOB, "job_digest": chance.choice([DIGEST, "d0"]),
         "eval_sha256": f"e{number % 3}", "examples": number},
        {"type": "deleted", "run": "", "deletion": chance.randrange(max(1, number))},
        {"type": "admission.granted", "run": "", "sha256": f"{number % 3:064}", "by": f"person {number}"},
        {"type": "admission.revoked", "run": "", "sha256": f"{number % 3:064}", "by": f"person {number}"},
    ]  # fmt: skip
    if chance.random() < 0.5:
        return [completed(chance.choice(others))]
    part = f"part {number}"
    documents = [entry(chance, part) for _ in range(chance.randrange(1, 5))]
    return [completed(each) for each in (*documents, {"type": "part", **run, "file": part})]


def said(history: History) -> dict[str, Any]:
    """Everything that a run asks of a history."""
    kinds = ("alone", "shared", "other")
    identities = [*DOCUMENTS, *(identity(kind, d, p) for kind in kinds for d in DOCUMENTS for p in PATHS)]
    return {
        "done": {document: history.done.get(document) for document in DOCUMENTS},
        "paths": {(p, d) for d in DOCUMENTS for p in PATHS if (p, d) in history.paths},
        "last": [history.last.get(one) for one in identities],
        "failed": dict(history.failed.items()),
        "answered": {f"part {n}": history.answered.get(f"part {n}") or None for n in range(60)},
        "took": (history.took, history.ours, history.costs, history.rerun and history.rerun.said),
        "rest": (history.inner, history.has_settings, history.cut_off, history.register, history.dispositions,
                 history.copies, {key: one.said for key, one in history.qualified.items()}),
        "unplaced": {name: [part.said, *(row.said for row in rows)] for name, (part, rows) in history.unplaced.items()},
        "deletions": {number: deletion.said for number, deletion in history.deletions.items()},
        "empty": history.empty and history.empty.said,
    }  # fmt: skip


@pytest.fixture
def log(site: Site) -> Iterator[audit.Log]:
    with audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key) as log:
        yield log


@pytest.fixture(autouse=True)
def every_log_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "LONG", 0)
    monkeypatch.setattr(known, "_AT_ONCE", 3)


def kept(site: Site, size: int, job_digest: str = DIGEST) -> History:
    return known.job_history(site, size, JOB, job_digest)


@pytest.mark.parametrize("seed", range(8))
def test_it_says_what_the_whole_log_says(site: Site, log: audit.Log, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(40):
        log.commit(commit(chance, number))
        if chance.random() < 0.4:
            history = kept(site, log.next_index)
            whole = read_history(read_entries(site), JOB, DIGEST)
            assert said(history) == said(whole)
            history.last[DOCUMENTS[0]] = 99  # a run changes what it has, not what is kept
            history.forget([f"part {number}"])


def test_only_what_came_since_is_read(site: Site, log: audit.Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.commit(commit(random.Random(1), 1))
    kept(site, log.next_index)
    size, asked = log.next_index, []
    monkeypatch.setattr(known, "read_entries", lambda site, start=0: asked.append(start) or read_entries(site, start))
    log.commit(commit(random.Random(2), 2))
    kept(site, log.next_index)
    kept(site, log.next_index)
    assert asked == [size, log.next_index]


def test_other_settings_make_it_anew(site: Site, log: audit.Log) -> None:
    log.commit(
        [entry(random.Random(1), "part 1") | {"job": JOB, "state": "done", "job_digest": DIGEST, "parent": None}]
    )
    assert any(kept(site, log.next_index).done.values())
    assert not any(kept(site, log.next_index, job_digest="d0").done.values())
    assert any(kept(site, log.next_index).done.values())


@pytest.mark.parametrize("body", [b"", b"no database at all, but long enough to be looked at", None])
def test_a_broken_file_is_made_anew(site: Site, log: audit.Log, body: bytes | None) -> None:
    chance = random.Random(5)
    for number in range(10):
        log.commit(commit(chance, number))
    whole = said(kept(site, log.next_index))
    (file,) = (site.state / "history").iterdir()
    if body is not None:
        file.write_bytes(body)
    else:
        with sqlite3.connect(file) as db:
            db.execute("UPDATE about SET value = x'00' WHERE name = 'root'")
    assert said(kept(site, log.next_index)) == whole


FORGED = {
    "a document that is done": "INSERT INTO done VALUES (x'{document}', 'forged.txt')",
    "a deletion": "UPDATE about SET value = replace(value, '\"deletions\": []', '\"deletions\": [[0, {{}}]]')",
    "an entry that is replaced": "INSERT OR REPLACE INTO last VALUES (x'{document}', 99)",
    "nothing": "PRAGMA user_version = 7",
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_what_somebody_else_wrote_into_it_is_not_believed(site: Site, log: audit.Log, forged: str) -> None:
    """The root is that of the log, the settings are the job's: only the seal tells."""
    log.commit(commit(random.Random(5), 0))
    kept(site, log.next_index)
    (file,) = (site.state / "history").iterdir()
    seal = site.state / "seals" / file.name
    body, sealed = file.read_bytes(), seal.read_bytes()
    with sqlite3.connect(file) as db:
        db.execute(forged.format(document="ab" * 32))
    assert file.read_bytes() != body
    assert said(kept(site, log.next_index)) == said(read_history(read_entries(site), JOB, DIGEST))
    assert not file.exists()
    file.write_bytes(body)
    seal.write_bytes(sealed)
    other = audit.derive_secret(site.key_file, site.public_key, "another purpose")
    write_seal(file, other)
    kept(site, log.next_index)
    assert not file.exists(), "sealed with another secret"


def test_a_journal_that_somebody_left_changes_nothing(site: Site, log: audit.Log) -> None:
    log.commit(commit(random.Random(5), 0))
    whole = said(kept(site, log.next_index))
    (file,) = (site.state / "history").iterdir()
    file.with_name(f"{file.name}-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(1016))
    assert said(kept(site, log.next_index)) == whole
    assert list((site.state / "history").iterdir()) == [file]


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(site: Site, log: audit.Log, mode: int) -> None:
    log.commit(commit(random.Random(5), 0))
    kept(site, log.next_index)
    (site.state / "history").chmod(mode)
    asked = said(kept(site, log.next_index))
    assert asked == said(read_history(read_entries(site), JOB, DIGEST))
    assert not list((site.state / "history").iterdir())


def test_where_it_cannot_be_written_the_log_is_read(site: Site, log: audit.Log) -> None:
    log.commit(commit(random.Random(5), 0))
    site.state.mkdir(exist_ok=True)
    (site.state / "history").write_text("in the way")
    assert said(kept(site, log.next_index)) == said(read_history(read_entries(site), JOB, DIGEST))


def test_nothing_is_kept_of_private_jobs(site: Site, log: audit.Log) -> None:
    log.commit(
        [entry(random.Random(1), "part 1") | {"private": 0}, completed({"type": "part", "file": "part 1", "run": "r"})]
    )
    assert kept(site, log.next_index).openings
    assert not list((site.state / "history").iterdir())


def test_a_tampered_tree_is_told(site: Site, log: audit.Log) -> None:
    log.commit(commit(random.Random(5), 0))
    kept(site, log.next_index)
    for tile in (site.audit / "tile").rglob("*"):
        if tile.is_file():
            tile.write_bytes(bytes(tile.stat().st_size))
    with pytest.raises(audit.LogUntrusted):
        kept(site, log.next_index)


def test_runs_over_it(plan: RunPlan, drop: Any) -> None:
    drop("a.txt", "One letter about a lease.")
    assert run(plan, observer=Witness()).counts["done"] + run(plan, observer=Witness()).seen >= 1
    drop("b.txt", "One letter about a lease.")
    drop("c.txt", "Another letter.")
    report = run(plan, observer=Witness())
    assert (report.seen, report.counts["duplicate"]) == (2, 1)
    assert (Path(plan.site.state) / "history" / f"{plan.job}.sqlite").is_file()


def test_a_revocation_is_remembered(plan: RunPlan, drop: Any) -> None:
    drop("a.txt", "One letter about a lease.")
    run(plan, observer=Witness())
    revoke(plan.site, str(plan.model.sha256), "Ada", "a doubt")
    for _ in range(2):  # the second time it is in what was kept
        drop("b.txt", "Another letter.")
        with pytest.raises(ModelRefusedError, match=r"was revoked by Ada on .*: a doubt; let the job"):
            run(plan, observer=Witness())
    assert (Path(plan.input.folder) / "b.txt").exists()
