"""A workspace made by hand, as `jobs` would make it, and plans for it."""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import audit
from pipeline import Input, Limits, ModelRef, RunPlan, Site
from pipeline.plan import Ocr
from pipeline.tasks import ClassifySettings, Label

TASK = ClassifySettings(
    labels=(Label("lease", "a lease of a flat: landlord, tenant"), Label("invoice", "an invoice: total due")),
    threshold=0.0,
)


@dataclass
class Witness:
    """An Observer that keeps what it is told."""

    notes: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    total: int = 0
    states: dict[str, str] = field(default_factory=dict)
    left: list[float | None] = field(default_factory=list)

    def note(self, event: str, **facts: str | int | float | None) -> None:
        self.notes.append((event, dict(facts)))

    def found(self, total: int) -> None:
        self.total = total

    def finished(self, path: str, state: str, reason: str | None) -> None:
        self.states[path] = state

    def expects(self, seconds_left: float | None) -> None:
        self.left.append(seconds_left)


def make_site(root: Path) -> Site:
    (root / "keys").mkdir(parents=True)
    key = root / "keys" / "log.key"
    public = audit.generate_key(key, "test.example/log")
    audit.Log.create(root / "audit", key_path=key, public_key=public)
    return Site(root, "test.example/log", key, public, Limits(seconds=20), 10_000_000)


def make_plan(site: Site, model: Path, job: str = "sort", **changes: object) -> RunPlan:
    """A classifying job over inbox/<job>, which reads no pictures: no run of it has to ask Tesseract what it can.
    `changes` replace fields of the plan."""
    folder = site.root / "inbox" / job
    folder.mkdir(parents=True, exist_ok=True)
    settings: dict[str, object] = {
        "input": Input(folder, ("*",), 0.0, "archive", ocr=Ocr(enabled=False)),
        "model": ModelRef("tiny", model, hashlib.sha256(model.read_bytes()).hexdigest()),
        "task": TASK,
        "formats": ("parquet", "markdown"),
        **changes,
    }
    return RunPlan(site=site, job=job, job_file_sha256="0" * 64, **settings)  # type: ignore[arg-type]


def copied(plan: RunPlan, root: Path) -> RunPlan:
    """The same plan over a copy of its workspace at `root`, which takes the place of what is there."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(plan.site.root, root, symlinks=True)
    site = replace(plan.site, root=root, key_file=root / "keys" / "log.key")
    return replace(plan, site=site, input=replace(plan.input, folder=root / "inbox" / plan.job))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path / "workspace")


@pytest.fixture
def plan(site: Site, tiny_model: Path) -> RunPlan:
    return make_plan(site, tiny_model)


@pytest.fixture
def drop(plan: RunPlan) -> Callable[[str, bytes | str], Path]:
    """Put a file into the inbox of `plan`."""

    def put(name: str, body: bytes | str) -> Path:
        path = plan.input.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body.encode() if isinstance(body, str) else body)
        return path

    return put
