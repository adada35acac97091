"""Workspaces that the browser looks at: one with documents of the demo and the real model, and one that is full of
documents whose names and texts are made to act in a browser."""

import json
import shutil
from pathlib import Path

import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from tests.console.browsing import command
from tests.console.hostile import documents

DEMO = Path(__file__).parents[2] / "corpus" / "demo"
TRIAGE, FIELDS, DIGEST = "correspondence-triage", "invoice-fields", "report-digest"
DOCUMENTS = (
    f"{TRIAGE}/post/Canteen menu week 47.md",
    f"{TRIAGE}/post/Complaint - kitchen worktop.txt",
    f"{TRIAGE}/post/Zweite Mahnung 2026-1107.pdf",
    f"{TRIAGE}/post/Second reminder - account 30977.txt",
    f"{TRIAGE}/mail/Application laboratory technician.eml",
    f"{TRIAGE}/portal/candidature-4471.html",
    f"{TRIAGE}/contracts/Managed IT services agreement.pdf",
    f"{FIELDS}/2026-10/Rechnung Pumpenreparatur.txt",
    f"{FIELDS}/en/INV-20931 Calder & Finch.pdf",
    f"{FIELDS}/en/mara-ives-3318.md",
    f"{FIELDS}/export/rechnung_2231.csv",
    f"{FIELDS}/scans/Rechnung 77-104.docx",
    f"{FIELDS}/scans/scan_0023.pdf",
    f"{DIGEST}/it/Incident report 2026-08-19.md",
    f"{DIGEST}/trials/Audit notes cold store.txt",
    f"{DIGEST}/2025/Annual safety report 2025.pdf",
)


def make_morning(root: Path, model: Path) -> None:
    """Two runs of the triage, between which one of its settings changed and copies came, and one of two other jobs."""
    jobs = (TRIAGE, FIELDS, DIGEST)
    command("init", root, "--origin", "test.example/log", *(word for job in jobs for word in ("--example", job)))
    shutil.copy(model, root / "models" / "all-minilm-l6-v2-q8_0.gguf")
    for job in jobs:
        change(root, job, "settle_seconds: 2", "settle_seconds: 0")
    for name in DOCUMENTS:
        drop(root, name, (DEMO / name).read_bytes())
    command("run", *jobs, "--workspace", root, code=1)
    change(root, TRIAGE, "# threshold: 0.3", "threshold: 0.2")
    for name in ("Lease", "Lease again"):
        drop(root, f"{TRIAGE}/new/{name}.txt", b"The landlord leases the flat to the tenant for a monthly rent.\n")
    command("run", TRIAGE, "--workspace", root)
    command("audit", "verify", "--workspace", root)
    make_ready(root)


LABELS = ("<x-evil>", '" onmouseover="x-evil()', "'</textarea><script>x-evil()</script>", "W" * 150)
HOSTILE = """\
job: {name}
input: {{settle_seconds: 0, hidden: {hidden}}}
model: {{name: tiny}}
task: {task}
"""
LONG = (
    ("W" * 240 + ".txt", "W" * 5000 + " the landlord leases the flat. " + "\u202e" + "i" * 3000),
    (
        "/".join(["W" * 60] * 12) + "/deep.md",
        "# " + "W" * 1000 + "\n\n| " + "W" * 900 + " | b |\n| - | - |\n| c | " + "W" * 900 + " |\n",
    ),
    ("javascript:x-evil().html", "<h1>javascript:x-evil()</h1><p>data:text/html,<script>x-evil()</script></p>" * 20),
)


def make_hostile(root: Path, model: Path, count: int) -> None:
    """Two jobs over so many documents whose names, texts, labels, mails and hidden texts would act on a page."""
    command("init", root, "--origin", "test.example/log")
    shutil.copy(model, root / "models" / "tiny.gguf")
    labels = ", ".join(f"{{name: {json.dumps(label)}, description: flat {label.count('x')}}}" for label in LABELS)
    sort, digest = f"{{type: classify, threshold: 0.0, labels: [{labels}]}}", "{type: summarize, sentences: 2}"
    for name, hidden, task in (("sort", "review", sort), ("digest", "keep", digest)):
        (root / "inbox" / name).mkdir()
        (root / "jobs" / f"{name}.yaml").write_text(HOSTILE.format(name=name, hidden=hidden, task=task))
    for number, (name, data) in enumerate(documents(count)):
        drop(root, f"{'sort' if number % 3 else 'digest'}/{name}", data)
    for job in ("sort", "digest"):
        for name, text in LONG:
            drop(root, f"{job}/{name}", text.encode())
    command("run", "sort", "digest", "--workspace", root, code=1)
    make_ready(root)


def make_ready(root: Path) -> None:
    """What `cloister console` does when it starts, so that what follows need not wait for it: the index is made."""
    site = make_site(open_workspace(root))
    with pipeline.index.open_index(site) as queue:
        queue.refresh()


def change(root: Path, job: str, found: str, put: str) -> None:
    """A line of a job file is changed."""
    file = root / "jobs" / f"{job}.yaml"
    text = file.read_text()
    assert found in text, f"{file} has no {found}"
    file.write_text(text.replace(found, put))


def drop(root: Path, name: str, data: bytes) -> None:
    """A document comes into the inbox."""
    path = root / "inbox" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
