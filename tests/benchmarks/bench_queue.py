"""The queue over a workspace of a million documents: the first page, filters, a document, and the index itself.

    python -m tests.benchmarks.bench_queue [--documents N] [--folder DIR] [--new N]

The workspace is made without a model: entries and parts of 500 rows, by the writers of the log and of the tables, of
two jobs (a label, fields), in nights of 20,000 documents; nothing lies in archive/. It stays in --folder, if that is
given, and is taken as it is if it is there. Then a child process opens the queue and measures, in seconds: the first
build of the index, the bringing up to date after --new rows (1,000), and the best and worst of five first pages,
filters, counts and documents (`row_of`, held against log and part). The memory is the largest of the child process
(VmHWM) without the first build, and of a child that makes it.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import pipeline
from jobs.config.load import load_site
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace
from pipeline.atrest.files import CLEAR
from pipeline.document import Row
from pipeline.outbox.parts import write_table
from pipeline.outbox.schema import result_sha256, table_schema, to_text
from pipeline.records.journal import Journal, open_journal
from pipeline.records.types import Document, ParseOptions, Part, Placed, Record, RunFinished, RunStarted

PART, NIGHT = 500, 20_000
LABELS = ("invoice", "reminder", "contract", "complaint", "application", "report", "notice", "other")
FOLDERS = tuple(f"{place}/{month}" for place in ("post", "mail", "scans", "portal") for month in range(2501, 2513))
STATES = ("done",) * 90 + ("abstained",) * 4 + ("review",) * 2 + ("failed",) * 3 + ("duplicate",)
WORDS = ("Hartmann", "Nordlicht", "Calder", "Finch", "Pinewood", "Yildiz", "Okafor", "Brückner", "Lumen", "Kestrel")
BAR_SECONDS, BAR_MIB = 0.5, 300.0
MADE = {"model_sha256": "2" * 64, "numerics": "1", "job_digest": "3" * 64}


def row_of_document(number: int, job: str, entry: int, run: str, chance: random.Random) -> dict[str, Any]:
    """A row as a run makes it."""
    state = chance.choice(STATES)
    row: dict[str, Any] = dict.fromkeys(table_schema().names)
    row |= MADE | {
        "job": job, "task": "classify" if job == "sort" else "extract", "document": f"{number:064x}", "state": state,
        "path": f"{chance.choice(FOLDERS)}/{chance.choice(WORDS)} {number:07d}.pdf", "size": chance.randrange(10**6),
        "media_type": "application/pdf", "language": chance.choice(("de", "en")), "pages": 3, "parser": "pdf pdfium",
        "text_sha256": f"{number + 1:064x}", "software": "1", "run": run, "audit_index": entry, "replaces": [],
        "tokens": 900, "seconds": 0.1, "finished_at": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number),
        "notes": [], "hidden": [], "chunks": [],
    }  # fmt: skip
    if state == "failed":
        return row | {"failure": chance.choice(("encrypted", "needs_ocr", "empty")), "reason": "there is no text"}
    if state == "duplicate":
        return row | {"duplicate_of": row["path"]}
    evidence = {"page": 1, "start": 10, "end": 20, "text": "0123456789", "section": None}
    return row | {"evidence": [evidence], **_answer(job, state, evidence, chance)}


def _answer(job: str, state: str, evidence: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    if job == "sort":
        scores = sorted((round(chance.random(), 6) for _ in LABELS), reverse=True)
        labels = chance.sample(LABELS, len(LABELS))
        each = [{"label": label, "score": score} for label, score in zip(labels, scores, strict=True)]
        return {"label": None if state == "abstained" else labels[0], "score": scores[0], "scores": each}
    money = f"{chance.randrange(10**5)}.{chance.randrange(100):02d} EUR"
    values = (("total", "money", money), ("date", "date", "2026-03-04"), ("number", "reference", "RE-17"))
    fields = [
        {"name": n, "type": t, "value": v, "verbatim": v, "score": chance.random(), "note": None, "evidence": evidence}
        for n, t, v in values
    ]
    return {"fields": fields}


def entry_of(row: dict[str, Any], part: str, place: int) -> Document:
    """The entry of a row as the table gives it back."""
    columns = (
        "document", "path", "parent", "size", "media_type", "encoding", "encoding_confidence", "language", "pages",
        "state", "failure", "reason", "duplicate_of", "supersedes", "parser", "text_sha256", "tokens", "run", "job",
        "seconds",
    )  # fmt: skip
    return Document(
        **{name: row[name] for name in columns}, **MADE, part=part, row=place, replaces=tuple(row["replaces"]),
        hidden=(), finished_at=to_text(row["finished_at"]), path_bytes=None, result_sha256=result_sha256(Row(row)),
        markdown=None, model="tiny", tokenizer_sha256="4" * 64, engine={"isa": "avx2", "threads": 4},
        software={"version": "1"}, parse_options=ParseOptions(limits={"seconds": 60}),
    )  # fmt: skip


def write_part(root: Path, log: Journal, job: str, run: str, first: int, count: int, chance: random.Random) -> None:
    """Commit a part with the rows of documents `first` and following, in place."""
    folder = root / "outbox" / job
    folder.mkdir(parents=True, exist_ok=True)
    name = f"outbox/{job}/part-{run}-{first:09d}.parquet"
    start = log.next_index
    made = [row_of_document(first + n, job, start + n, run, chance) for n in range(count)]
    table = pa.Table.from_pylist(made, schema=table_schema())
    sha256 = write_table(CLEAR, root / name, table)
    documents = [entry_of(row, name, place) for place, row in enumerate(table.to_pylist())]
    part = Part(file=name, sha256=sha256, rows=count, first=start, folder=f"inbox/{job}", afterwards="archive")
    log.commit([*documents, part.made_by(run, job)])
    log.commit([Placed(file=name).made_by(run, job)])


def write_documents(root: Path, site: pipeline.Site, first: int, count: int) -> None:
    """Write so many documents, in nights of two jobs."""
    with open_journal(site) as log:
        for night, begin in enumerate(range(first, first + count, NIGHT)):
            job = "sort" if night % 3 else "fields"
            evening = datetime(2026, 1, 1, 22, tzinfo=UTC) + timedelta(days=begin // NIGHT)
            run = f"{evening:%Y%m%dT%H%M%SZ}-{begin % 2**24:06x}"
            end = min(begin + NIGHT, first + count)
            _commit(log, run, job, RunStarted(**MADE_RUN, ready=end - begin))
            chance = random.Random(begin)
            for at in range(begin, end, PART):
                write_part(root, log, job, run, at, min(PART, end - at), chance)
            counts = dict.fromkeys(("abstained", "review", "failed", "duplicate", "ignored", "pending"), 0)
            _commit(log, run, job, RunFinished(seen=end - begin, done=end - begin, seconds=60.0, parts=1, **counts))


MADE_RUN: dict[str, Any] = {"job_digest": "3" * 64, "job_file_sha256": "0" * 64, "model": "tiny"} | {
    "model_sha256": "2" * 64
}


def _commit(log: Journal, run: str, job: str, record: Record) -> None:
    log.commit([record.made_by(run, job)])


def site_in(root: Path) -> pipeline.Site:
    """The site of a workspace, which is made if it is not there."""
    if not (root / "site.yaml").exists():
        told = ["cloister", "init", str(root), "--origin", "bench.example/log"]
        command = [sys.executable, "-c", f"import sys; from jobs.cli import main; sys.argv = {told!r}; main()"]
        subprocess.run(command, check=True, capture_output=True)
    return make_site(Workspace(root, load_site(root / "site.yaml")))


def timed(action: Callable[[], object]) -> float:
    """Seconds of the clock on the wall."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def peak_mib(process: int | str = "self") -> float:
    """The largest memory of a process so far."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


LOOKS: dict[str, tuple[pipeline.index.Filter, str]] = {
    "first page, by score": (pipeline.index.Filter(), "score"),
    "first page, least certain": (pipeline.index.Filter(), "uncertain"),
    "first page, largest": (pipeline.index.Filter(), "size"),
    "first page, by path": (pipeline.index.Filter(), "path"),
    "failed, one class": (pipeline.index.Filter(failures=("encrypted",)), "score"),
    "one label, one folder": (pipeline.index.Filter(labels=("reminder",), folder="mail/2507"), "score"),
    "one night": (pipeline.index.Filter(night="2026-01-09"), "score"),
    "one job, low scores": (pipeline.index.Filter(jobs=("fields",), states=("done",)), "score"),
    "text that one has": (pipeline.index.Filter(text="0123456.pdf"), "score"),
    "text that a tenth has": (pipeline.index.Filter(text="brückner"), "score"),
    "text that all have": (pipeline.index.Filter(text=".pdf"), "score"),
    "text that none has": (pipeline.index.Filter(text="zzzz"), "score"),
}


def look(root: Path) -> dict[str, Any]:
    """Measure an index that is up to date; each look five times, in a process that does nothing else."""
    site, figures = site_in(root), dict[str, Any]()
    opened = time.perf_counter()
    with pipeline.index.open_index(site) as queue:
        queue.refresh()
        figures["opened, nothing new"] = [time.perf_counter() - opened] * 2
        for name, (asked, sort) in LOOKS.items():
            took = [timed(lambda asked=asked, sort=sort: queue.page(asked, sort)) for _ in range(5)]  # type: ignore[misc]
            figures[name] = [min(took), max(took)]
        for by in ("state", "label", "failure", "night"):
            took = [timed(lambda by=by: queue.counts(pipeline.index.Filter(), by)) for _ in range(5)]  # type: ignore[misc]
            figures[f"counts by {by}"] = [min(took), max(took)]
        entries = [each.entry for each in queue.page(pipeline.index.Filter(), "size", None, 5).items]
        took = [timed(lambda entry=entry: pipeline.review.row_of(site, entry)) for entry in entries]  # type: ignore[misc]
        figures["a document (row_of)"] = [min(took), max(took)]
        figures["its other rows"] = [timed(lambda: queue.same_document(entries[0]))] * 2
    return figures | {"memory": peak_mib()}


def refresh(root: Path) -> dict[str, Any]:
    """Bring the index up to date; seconds and memory."""
    site = site_in(root)
    with pipeline.index.open_index(site) as queue:
        took = timed(queue.refresh)
        return {"seconds": took, "memory": peak_mib(), "rows": queue.count(pipeline.index.Filter())}


def in_child(what: str, root: Path) -> dict[str, Any]:
    """What a measurement in a process of its own gives."""
    command = [sys.executable, "-m", "tests.benchmarks.bench_queue", "--child", what, "--folder", str(root)]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return told


def measure(root: Path, documents: int, new: int) -> None:
    """Make what is not there, measure, and print a table."""
    site = site_in(root)
    if not (root / "made").exists():
        took = timed(lambda: write_documents(root, site, 0, documents))
        (root / "made").write_text(str(documents))
        print(f"{documents:,} documents written in {took:,.0f} s", flush=True)
    for file in (root / "state").glob("index.sqlite*"):
        file.unlink()
    first = in_child("refresh", root)
    size = (root / "state" / "index.sqlite").stat().st_size
    print(f"first build: {first['seconds']:.1f} s, {first['memory']:.0f} MiB, {size / 2**20:,.0f} MiB of file")
    count = int((root / "made").read_text())
    write_documents(root, site, count, new)
    (root / "made").write_text(str(count + new))
    again = in_child("refresh", root)
    print(f"after {new:,} new rows: {again['seconds']:.2f} s, {again['memory']:.0f} MiB; {again['rows']:,} rows")
    figures = in_child("look", root)
    memory = figures.pop("memory")
    print(f"| {again['rows']:,} rows | best | worst of 5 | bar |\n|---|---|---|---|")
    for name, (least, most) in figures.items():
        print(f"| {name} | {least:.3f} s | {most:.3f} s | {BAR_SECONDS} s{'' if most < BAR_SECONDS else ', missed'} |")
    print(f"| memory | {memory:.0f} MiB | | {BAR_MIB:.0f} MiB |")


def main() -> None:
    """The command."""
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("--documents", type=int, default=1_000_000)
    told.add_argument("--new", type=int, default=1_000)
    told.add_argument("--folder", type=Path)
    told.add_argument("--child", choices=("look", "refresh"), help=argparse.SUPPRESS)
    asked = told.parse_args()
    if asked.child:
        print(json.dumps({"look": look, "refresh": refresh}[asked.child](asked.folder)))
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(asked.folder or Path(folder) / "ws", asked.documents, asked.new)


if __name__ == "__main__":
    main()
