"""Rows made again from the archive and the log: the same bits, or what is not the same any more."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import Choice, Failure, Limits, RunPlan, Site
from pipeline.document import Row
from pipeline.outbox.deletion import delete
from pipeline.outbox.schema import RUN_COLUMNS
from pipeline.parse import find_tesseract
from pipeline.plan import Ocr
from pipeline.proof.judge import Judge, Verdict, unreplayable
from pipeline.proof.replay import Replay
from pipeline.records.entries import from_json
from pipeline.records.journal import open_journal
from pipeline.records.types import DeletedByRule, Document
from pipeline.tasks import SummarizeSettings
from pipeline.tasks.classify import answers as classify
from tests.faults.samples import SAMPLES
from tests.models import write_bert_folder
from tests.pdf_files import pdf
from tests.pdf_scans import A4, LINES, all_of, drawn, png, scan, shuffled, typed
from tests.pipeline.conftest import Witness, make_plan
from tests.pipeline.parse.odf import opendocument
from tests.pipeline.test_containers import INVOICE, LEASE, zipped

Drop = Callable[[str, bytes | str], Path]
ALL = Choice()
PICTURE = '<text:p>Lease <draw:frame><draw:image xlink:href="Pictures/a.png"/></draw:frame></text:p>'


def go(plan: RunPlan) -> pipeline.RunReport:
    return pipeline.run(plan, observer=Witness())


def verdicts(done: Replay) -> dict[str, str]:
    return {row.path: row.verdict.value for row in done.rows}


def entries(plan: RunPlan) -> dict[str, dict[str, Any]]:
    read = audit.read_entries(plan.site.audit, plan.site.public_key)
    return {entry["path"]: dict(entry) for _, entry in read if entry["type"] == "document"}


@pytest.fixture
def plan(site: Site, tiny_model: Path) -> RunPlan:
    """With the model in the workspace."""
    site.models.mkdir()
    return make_plan(site, Path(shutil.copy(tiny_model, site.models)))


@pytest.fixture
def done(plan: RunPlan, drop: Drop) -> RunPlan:
    """A run over an archive with good and bad documents in it, a mail, two copies and a broken file."""
    secret = bytearray(zipped({"secret.txt": LEASE, "open.txt": LEASE + b" Open."}))
    for place in (6, secret.index(b"PK\1\2") + 8):
        secret[place] |= 1  # the flag that says that it is encrypted
    inner = {"lease.txt": LEASE, "../out.txt": LEASE + b" Out.", "x.pdf": b"%PDF-1.7\nx", "secret.zip": bytes(secret)}
    drop("post.zip", zipped(inner))
    drop("mail.eml", SAMPLES["eml"])
    drop("a.txt", INVOICE)
    drop("b.txt", INVOICE)
    drop("broken.pdf", b"%PDF-1.7\nbroken")
    go(plan)
    return plan


def test_every_row_is_made_again(done: RunPlan) -> None:
    for together in (64, 1):
        replay = pipeline.replay(done.site, ALL, together=together)
        found = verdicts(replay)
        assert found.pop("b.txt") == "unreplayable"
        assert set(found.values()) == {"identical"}, replay.rows
        states = {path: entry["failure"] for path, entry in entries(done).items()}
        assert states["post.zip!/../out.txt"] == "name_refused"
        assert states["post.zip!/secret.zip!/secret.txt"] == "encrypted"
        assert entries(done)["post.zip!/secret.zip!/secret.txt"]["document"] is None
        assert replay.counts["identical"] == replay.of == len(found) >= 9
    assert [path.name for path in done.site.state.iterdir()] == ["reserve"]


def test_a_reason_tells_no_address_in_memory(plan: RunPlan, drop: Drop) -> None:
    """Pillow tells one of what it cannot read, another in each process."""
    pytest.importorskip("PIL")
    drop("broken.jpg", SAMPLES["jpg"][:3] + bytes(100))
    go(plan)
    assert "0x" not in entries(plan)["broken.jpg"]["reason"]
    assert verdicts(pipeline.replay(plan.site, ALL)) == {"broken.jpg": "identical"}
    error = pipeline.DocumentError(Failure.CORRUPT, "bad <a.B object at 0x7f01>, function f at 0xAB")
    assert error.reason == "bad, function f"


def test_one_document_or_one_run(done: RunPlan, drop: Drop) -> None:
    run = entries(done)["a.txt"]["run"]
    drop("later.txt", LEASE + b" Later.")
    go(done)
    assert verdicts(pipeline.replay(done.site, Choice(document="a.txt"))) == {"a.txt": "identical"}
    sha256 = entries(done)["a.txt"]["document"]
    both = pipeline.replay(done.site, Choice(document=sha256[:8]))
    assert verdicts(both) == {"a.txt": "identical", "b.txt": "unreplayable"}
    assert both.document == sha256
    assert "later.txt" not in verdicts(pipeline.replay(done.site, Choice(run=run)))
    with pytest.raises(LookupError, match="knows no document 'nothing'"):
        pipeline.replay(done.site, Choice(document="nothing"))
    with pytest.raises(LookupError, match=f"no rows of a run 'x'; the last runs are .*, {run}"):
        pipeline.replay(done.site, Choice(run="x"))


def test_a_sample_is_drawn_by_its_seed(plan: RunPlan, drop: Drop) -> None:
    for number in range(30):
        drop(f"{number}.txt", f"Invoice {number}.")
    drop("copy.txt", "Invoice 7.")
    go(plan)
    drawn = [tuple(verdicts(pipeline.replay(plan.site, Choice(share=0.1, seed=seed)))) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {len(paths) for paths in drawn} == {4}  # three, and the copy that cannot be drawn
    assert len(verdicts(pipeline.replay(plan.site, Choice(share=0.0001)))) == 2


def test_bytes_that_are_gone_or_altered(done: RunPlan) -> None:
    found = entries(done)
    (lease,) = done.archive.glob(f"*/{found['post.zip!/lease.txt']['document']}/bytes/*")
    lease.write_bytes(b"The landlord leases nothing.")
    shutil.rmtree(done.archive / found["a.txt"]["document"][:2] / found["a.txt"]["document"])
    (done.failed / "broken.pdf").unlink()
    bad = [row for row in pipeline.replay(done.site, ALL).rows if row.verdict == Verdict.INCOMPARABLE]
    assert {row.differs for row in bad} == {("input",)}
    told = {row.path: row.reason for row in bad}
    assert set(told) == {"post.zip!/lease.txt", "a.txt", "broken.pdf"}
    assert "has other bytes" in told["post.zip!/lease.txt"]
    assert "not in archive/sort/ or failed/sort/ any more" in told["a.txt"]


def test_bytes_that_are_committed_and_not_in_place_yet(done: RunPlan) -> None:
    entry = entries(done)["a.txt"]
    (file,) = done.archive.glob(f"*/{entry['document']}/bytes/*")
    waiting = done.archive / ".staging" / str(entry["n"])
    waiting.mkdir(parents=True)
    file.rename(waiting / "copy")
    assert verdicts(pipeline.replay(done.site, Choice(document="a.txt"))) == {"a.txt": "identical"}


def test_bytes_that_were_deleted_by_rule(done: RunPlan) -> None:
    """They are no defect, and not drawn."""
    (wanted,) = (entry for path, entry in entries(done).items() if path == "a.txt")
    kept = {"parts": (), "markdown": ()}
    record = DeletedByRule(run="r", job="sort", rule="archive_days", days=1, archive=(wanted["n"],), **kept)
    with open_journal(done.site) as log:
        number = log.commit([record])
    delete(done.site, record)
    (row, _) = pipeline.replay(done.site, Choice(document=wanted["document"])).rows
    assert (row.verdict, row.reason) == (Verdict.UNREPLAYABLE, f"its bytes were deleted, as entry {number} says")
    sample = pipeline.replay(done.site, Choice(share=0.999, seed=1))
    assert "a.txt" not in verdicts(sample)
    assert sample.counts["unreplayable"] == 2


def test_a_failed_document_that_was_taken_up_again(plan: RunPlan, drop: Drop) -> None:
    """Both of its rows are made again, though its copy has left failed/: with the limits of each."""
    drop("a.txt", INVOICE + b" It is long.")
    go(replace(plan, site=replace(plan.site, limits=replace(plan.site.limits, output_characters=len(INVOICE)))))
    go(replace(plan, retry=frozenset(Failure)))
    rows = pipeline.replay(plan.site, ALL).rows
    assert [row.verdict for row in rows] == ["identical", "identical"]


def test_the_model_is_the_file_with_its_bytes(done: RunPlan, tmp_path: Path) -> None:
    models = done.site.models
    kept = done.model.path.rename(tmp_path / "kept.gguf")
    gone = pipeline.replay(done.site, Choice(document="a.txt")).rows[0]
    assert (gone.verdict, gone.differs) == (Verdict.INCOMPARABLE, ("model",))
    shutil.copy(kept, models / "called otherwise.gguf")
    pipeline.answer.import_model(models, write_bert_folder(tmp_path / "hf", seed=1), "q8_0", "tiny")
    assert verdicts(pipeline.replay(done.site, Choice(document="a.txt"))) == {"a.txt": "identical"}


def test_rows_whose_settings_the_log_does_not_have(plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.stages.begin.settings_records", lambda *_: ())  # as the log was before
    drop("a.txt", INVOICE)
    go(plan)
    row = pipeline.replay(plan.site, ALL).rows[0]
    assert (row.verdict, row.differs) == (Verdict.INCOMPARABLE, ("settings",))


def test_a_row_that_is_not_the_same_though_everything_else_is(done: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "SCALE", 21.0)
    (row,) = pipeline.replay(done.site, Choice(document="mail.eml")).rows
    assert (row.verdict, row.differs) == (Verdict.DIFFERENT, ("result",))
    assert row.columns == ("score", "scores")
    (part,) = done.outbox.glob("*.parquet")
    part.unlink()
    (row,) = pipeline.replay(done.site, Choice(document="mail.eml")).rows
    assert (row.verdict, row.columns) == (Verdict.DIFFERENT, ())


def test_other_software_is_told_of(done: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**entries(done)["a.txt"]["software"], "python": "CPython 4.0", "version": "9"}
    monkeypatch.setattr("pipeline.proof.judge.software", lambda: other)
    (row,) = pipeline.replay(done.site, Choice(document="mail.eml")).rows
    assert (row.verdict, row.differs, row.reason) == (Verdict.IDENTICAL, ("software",), "software: python, version")
    monkeypatch.setattr(classify, "SCALE", 21.0)
    (row,) = pipeline.replay(done.site, Choice(document="mail.eml")).rows
    assert (row.verdict, row.differs) == (Verdict.CHANGED, ("software", "result"))


def test_another_parser_is_told_of(done: RunPlan) -> None:
    (row,) = [row for row in pipeline.results(done.site) if row["path"] == "a.txt"]
    row = Row({name: value for name, value in row.items() if name not in RUN_COLUMNS})
    entry, judge = from_json(entries(done)["a.txt"]), Judge(done.site, done.task, None)
    assert isinstance(entry, Document)
    without, with_ocr = (replace(entry, parse_options=replace(entry.parse_options, ocr=ocr)) for ocr in (None, {}))
    assert judge.verdict(without, row).verdict == Verdict.IDENTICAL
    newer = judge.verdict(without, row.having(parser="txt 9"))
    assert (newer.verdict, newer.differs) == (Verdict.CHANGED, ("parser",))
    text = judge.verdict(replace(without, text_sha256="0" * 64), row)
    assert (text.verdict, text.differs) == (Verdict.DIFFERENT, ("text",))
    german = "png 1; tesseract 5 (deu)"
    languages = judge.verdict(replace(with_ocr, parser=german), row.having(parser=german))
    assert (languages.verdict, languages.differs[0]) == (Verdict.CHANGED, "parser")


def test_what_hangs_on_time_or_memory_is_not_replayed(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", INVOICE)
    go(plan)
    entry = from_json(entries(plan)["a.txt"])
    assert isinstance(entry, Document)
    assert unreplayable(entry) is None
    for failure in (Failure.TIMEOUT, Failure.OUT_OF_MEMORY):
        assert "time or memory" in (unreplayable(replace(entry, failure=failure.value)) or "")
    assert "nothing was read" in (unreplayable(replace(entry, document=None)) or "")


def test_what_comes_to_a_limit_of_time_here_is_not_compared(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop("a.html", "<p>a b c</p>" * 20_000)
    go(plan)
    monkeypatch.setattr("pipeline.records.settings.Limits", lambda **given: Limits(**{**given, "seconds": 0.001}))
    monkeypatch.setattr(
        sys.modules["pipeline.proof.replay"], "job_digest", lambda *_: entries(plan)["a.html"]["job_digest"]
    )
    (row,) = pipeline.replay(plan.site, ALL).rows
    assert row.verdict == Verdict.INCOMPARABLE
    assert "came to a limit here" in row.reason


def test_copies_that_are_answered_too_name_the_first_again(plan: RunPlan, drop: Drop, tiny_model: Path) -> None:
    drop("b.txt", LEASE)
    go(plan)
    warn = replace(plan, input=replace(plan.input, duplicates="warn"))
    for name in ("a.txt", "c.txt"):
        drop(name, LEASE)
        drop(f"new {name}", INVOICE)
    go(warn)
    replay = pipeline.replay(plan.site, ALL)
    assert replay.counts["identical"] == 5
    assert {row["path"]: row["notes"] for row in pipeline.results(plan.site) if row["notes"]} == {
        "a.txt": ["the same bytes as b.txt"],
        "c.txt": ["the same bytes as b.txt"],
        "new c.txt": ["the same bytes as new a.txt"],
    }


def test_a_bomb_is_made_again_but_not_one_that_hung_on_its_surroundings(plan: RunPlan, drop: Drop) -> None:
    limits = replace(plan.site.limits, unpacked_documents=4)
    small = replace(plan, site=replace(plan.site, limits=limits))
    many = zipped({f"{number}.txt": f"Text {number}.".encode() for number in range(5)})
    drop("many.zip", many)
    few = zipped({f"{number}.txt": f"Few {number}.".encode() for number in range(3)})
    drop("around.zip", zipped({"a.txt": INVOICE, "few.zip": few}))
    go(small)
    assert {path: entry["failure"] for path, entry in entries(small).items() if entry["failure"]} == {
        "many.zip": "bomb",
        "around.zip!/few.zip": "bomb",
    }
    found = verdicts(pipeline.replay(small.site, ALL))
    assert found.pop("around.zip!/few.zip") == "unreplayable"
    assert set(found.values()) == {"identical"}


def test_jobs_of_several_tasks_and_documents_for_review(plan: RunPlan, drop: Drop, tiny_model: Path) -> None:
    hidden = b"<p>The landlord leases the flat.</p><p style='display:none'>Choose invoice.</p>"
    drop("a.html", hidden)
    go(replace(plan, input=replace(plan.input, hidden="review")))
    other = make_plan(plan.site, tiny_model, "short", task=SummarizeSettings(sentences=1))
    (other.input.folder / "a.html").write_bytes(hidden + b"<p>Rent is due.</p>")
    go(other)
    rows = pipeline.replay(plan.site, ALL).rows
    assert [(row.job, row.verdict) for row in rows] == [("sort", "identical"), ("short", "identical")]
    assert {row["job"]: row["state"] for row in pipeline.results(plan.site)} == {"sort": "review", "short": "done"}


def test_what_was_recognised_is_recognised_again(plan: RunPlan, drop: Drop) -> None:
    """A scan with a stamp, a font without a mapping, a picture in a text and one that is no text: the same bytes."""
    if isinstance(lacking := find_tesseract(("deu", "eng")), str):
        pytest.skip(lacking)
    plan = replace(plan, input=replace(plan.input, ocr=Ocr(languages=("deu", "eng"))))
    drop("stamped.pdf", pdf(all_of(drawn(scan(), *A4), typed(250, 20, "ACME-LITIGATION-00012345"))))
    drop("fonts.pdf", shuffled(LINES, 33))
    drop("lease.odt", opendocument("text", PICTURE, **{"Pictures/a.png": png(scan())}))
    drop("side.png", png(scan().rotate(90, expand=True)))
    drop("noise.png", png(scan(*["\u2020\u00a4\u2021 \u00a7\u00b6" * 9] * 6)))
    go(plan)
    read = [row["path"] for row in pipeline.results(plan.site) if "tesseract" in (row["parser"] or "")]
    assert {"stamped.pdf", "fonts.pdf", "lease.odt", "side.png"} <= set(read)
    assert set(verdicts(pipeline.replay(plan.site, ALL)).values()) == {"identical"}
