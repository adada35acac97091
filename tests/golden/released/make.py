"""Writes the workspace that a release leaves to later versions: VERSION.tar.xz beside this file.

    python -m tests.golden.released.make [NAME]

NAME is the version if it is left out.

Real commands in processes of their own, with a small model of random weights: documents of each state, a private job,
a decision of a person, a rerun, a hold, an erasure, and another key.
"""

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path

import engine
from tests.models import write_bert_folder

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-P", "-c", "from jobs.cli import main; main()"]
JOB = """\
job: {name}
input: {{settle_seconds: 0}}
model: {{name: tiny}}
private: {private}
task:
  type: classify
  threshold: 0.0
  labels:
    - {{name: lease, description: "a lease of a flat: landlord, tenant"}}
    - {{name: invoice, description: "an invoice: total due"}}
"""


def cloister(root: Path, *words: str, code: int = 0) -> str:
    """Run a command in the workspace, which has to end with this exit code; what it says."""
    done = subprocess.run([*COMMAND, *words], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return done.stdout


def make(root: Path) -> None:
    """Make the workspace."""
    cloister(root.parent, "init", str(root), "--origin", "released.example/log")
    scratch = root.parent / "model"
    engine.import_model(write_bert_folder(scratch), root / "models" / "tiny.gguf", file_type="q8_0", name="tiny")
    for name, private in (("sort", "false"), ("quiet", "true")):
        (root / "jobs" / f"{name}.yaml").write_text(JOB.format(name=name, private=private))
        folder = root / "inbox" / name
        folder.mkdir()
        (folder / f"{name}-lease.txt").write_text(f"The tenant leases the flat from the landlord. {name}")
        (folder / f"{name}-copy.txt").write_text(f"The tenant leases the flat from the landlord. {name}")
        (folder / f"{name}-invoice.txt").write_text(f"Invoice 7 of {name}. Total due: EUR 120.00.")
        (folder / f"{name}-empty.txt").write_text("")
        (folder / f"{name}-page.html").write_text(f"<p>The rent of {name} is due.</p>")
        cloister(root, "run", name, code=1)
    rows = json.loads(cloister(root, "results", "sort", "--json"))
    row = next(row["audit_index"] for row in rows if row["path"] == "sort-invoice.txt")
    cloister(root, "review", "correct", str(row), "--label", "invoice", "--as", "Ada")
    cloister(root, "audit", "hold", "sort-lease.txt", "--reason", "case 1")
    cloister(root, "audit", "erase", "quiet-page.html", "--archive", "--rows", "--reason", "asked for")
    job = root / "jobs" / "sort.yaml"
    job.write_text(job.read_text().replace("total due", "total due, a sum"))
    cloister(root, "rerun", "sort")
    cloister(root, "retry", "sort", code=1)
    cloister(root, "audit", "key", "rotate")
    cloister(root, "audit", "verify")
    for name in ("reserve", "history"):
        place = root / "state" / name
        shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)


def pack(root: Path, target: Path) -> None:
    """Pack the workspace, without who owns its files."""

    def plain(item: tarfile.TarInfo) -> tarfile.TarInfo:
        item.uid = item.gid = 0
        item.uname = item.gname = ""
        return item

    with tarfile.open(target, "x:xz", preset=9) as packed:
        packed.add(root, "workspace", filter=plain)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "workspace")
        pack(Path(folder) / "workspace", HERE / f"{' '.join(sys.argv[1:]) or metadata.version('cloister')}.tar.xz")
