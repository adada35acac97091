"""A real workspace with one job over small documents, and the command that runs it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import engine
import pipeline
from jobs.config.load import load_site
from jobs.config.workspace import Workspace
from tests.models import write_bert_folder

JOB = "papers"
_JOB = """\
job: papers
input: {settle_seconds: 0, ocr: off}
model: {name: tiny}
task:
  type: classify
  threshold: 0.0
  labels:
    - {name: lease, description: "a lease of a flat: landlord, tenant"}
    - {name: invoice, description: "an invoice: total due"}
output: {formats: [parquet, markdown], part_documents: %d}
"""


@dataclass(frozen=True)
class Workplace:
    """A workspace at `root`."""

    root: Path

    @staticmethod
    def make(
        root: Path, papers: Iterable[tuple[str, bytes]], part_documents: int = 10, *, encrypted: bool = False
    ) -> "Workplace":
        """As `cloister init` makes it, with a small model, and the documents in its inbox; `encrypted`: what is kept of
        them."""
        place = Workplace(root)
        place.cloister("init", str(root), "--origin", "test.example/torture", check=True)
        engine.import_model(
            write_bert_folder(root / "hf"), root / "models" / "tiny.gguf", file_type="q8_0", name="tiny"
        )
        shutil.rmtree(root / "hf")
        job = _JOB % part_documents
        if encrypted:
            place.cloister("encryption", "new", str(root / "keys" / "rest.key"), check=True)
            with (root / "site.yaml").open("a") as site:
                site.write("encryption: {key_file: keys/rest.key}\n")
            job = job.replace("[parquet, markdown]", "[parquet]")
        (root / "jobs" / f"{JOB}.yaml").write_text(job)
        for name, body in papers:
            path = place.inbox / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        return place

    def copy(self, root: Path) -> "Workplace":
        """The same workspace somewhere else."""
        shutil.copytree(self.root, root, symlinks=True)
        return Workplace(root)

    @property
    def inbox(self) -> Path:
        """Where the documents come from."""
        return self.root / "inbox" / JOB

    @property
    def site(self) -> pipeline.Site:
        """What reading and verifying it needs."""
        workspace = Workspace(self.root, load_site(self.root / "site.yaml"))
        log, limits = workspace.site.log, pipeline.Limits(seconds=60, memory_bytes=1 << 30)
        site = pipeline.Site(self.root, log.origin, self.root / log.key, log.public_key, limits, 256 << 20)
        return replace(site, at_rest=workspace.at_rest)

    def command(self, *arguments: str) -> list[str]:
        """The installed program with these arguments."""
        return [str(Path(sys.executable).with_name("cloister")), *arguments]

    def run_command(self) -> list[str]:
        """A run of the job."""
        return self.command("run", JOB, "--workspace", str(self.root))

    def cloister(self, *arguments: str, check: bool = False) -> "subprocess.CompletedProcess[str]":
        """Runs it to its end."""
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, check=check, env=environment())

    def run(self) -> "subprocess.CompletedProcess[str]":
        """A run of the job to its end; 1 is its code, since some documents fail."""
        return subprocess.run(self.run_command(), capture_output=True, text=True, check=False, env=environment())


def scratch(name: str) -> Path:
    """A new folder, in memory if there is room: a kill loses nothing that was written, whatever the disk."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 << 30
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=memory if roomy else None))


def environment() -> dict[str, str]:
    """Of the program: few threads, so that several of them fit on a machine."""
    return {**os.environ, "CLOISTER_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "CLOISTER_WORKSPACE": ""}
