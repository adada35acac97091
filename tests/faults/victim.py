"""A small real workspace for tampering: three runs of one job, with failures, copies, changed documents and a
container, and more entries than one tile holds; its states after each run, and the log's earlier ones, beside it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import audit
import engine
import pipeline
from pipeline import RunPlan, Site
from tests.models import write_bert_folder
from tests.pipeline.conftest import Witness, make_plan, make_site
from tests.pipeline.test_containers import zipped

LEASE, INVOICE = "The landlord leases the flat to the tenant.", "Invoice {}, total due 12.00."
BROKEN = b"%PDF-1.7 and nothing else"
RUNS: tuple[dict[str, bytes], ...] = (
    {
        **{f"post/letter {i:02}.txt": f"{INVOICE.format(i) if i % 2 else LEASE} No. {i}.".encode() for i in range(18)},
        "copy.txt": f"{LEASE} No. 0.".encode(),
        "broken/a.pdf": BROKEN,
        "broken/b.pdf": BROKEN,
        "all.zip": zipped({"one.txt": LEASE.encode(), "two/three.txt": INVOICE.format(99).encode()}),
    },
    {"post/letter 01.txt": b"The lease of the flat ended.", "broken/a.pdf": BROKEN + b" more", "Verträge.txt": b"x y"},
    {f"later/{i}.txt": f"{LEASE} Later {i}.".encode() for i in range(9)},
)  # fmt: skip
FILLERS = (150, 3, 140, 1, 260)  # records that are no documents, commit by commit


@dataclass(frozen=True)
class Victim:
    """`kept` is the last checkpoint, put away; `states` are whole workspaces after each run, `logs` the folder audit/
    at earlier moments, the last one exactly a commit before the end."""

    site: Site
    kept: bytes
    states: tuple[Path, ...]
    logs: tuple[Path, ...]

    def moved(self, root: Path) -> "Victim":
        """The same workspace in a copy of its own."""
        shutil.copytree(self.site.root, root)
        return replace(self, site=replace(self.site, root=root, key_file=root / "keys" / "log.key"))


def make_victim(folder: Path) -> Victim:
    """Everything below `folder`, which is empty."""
    engine.import_model(write_bert_folder(folder / "hf"), folder / "tiny.gguf", file_type="q8_0", name="tiny")
    plan = make_plan(make_site(folder / "workspace"), folder / "tiny.gguf")
    states, logs = [], []
    for number, files in enumerate(RUNS):
        for name, body in files.items():
            path = plan.input.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        pipeline.run(replace(plan, part_documents=7), observer=Witness())
        states.append(shutil.copytree(plan.site.root, folder / f"state-{number}"))
        logs += list(_fill(plan, folder / f"log-{number}", FILLERS[number : number + 2]))
    logs += list(_fill(plan, folder / "log-last", FILLERS[3:]))
    kept = (plan.site.audit / "checkpoint").read_bytes()
    assert pipeline.verify(plan.site).complete
    return Victim(plan.site, kept, tuple(states), tuple(logs))


def _fill(plan: RunPlan, folder: Path, counts: tuple[int, ...]) -> Iterator[Path]:
    for number, count in enumerate(counts):
        yield Path(shutil.copytree(plan.site.audit, folder.with_name(f"{folder.name}-{number}")))
        with opened(plan.site) as log:
            log.commit([{"type": "note", "run": "fill", "i": i, "share": i / 8} for i in range(count)])


@contextmanager
def opened(site: Site) -> Iterator[audit.Log]:
    """The log, for who has the key."""
    with audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key) as log:
        yield log
