"""The plan of a run: frozen values without YAML, defaults or environment. `jobs` makes them, `pipeline.run` obeys."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import Final

from pipeline.atrest.files import CLEAR, AtRest
from pipeline.errors import DocumentError, Failure
from pipeline.kernel.network import Silence
from pipeline.parse import Limits
from pipeline.tasks import Task, Writing

REQUIRED, BEST_EFFORT = "required", "best_effort"
"""Whether parsers of documents are started where the machine does not let them be held (isolation.py)."""


@dataclass(frozen=True)
class Bounds:
    """The tokens of its text, and the seconds of a model's work, that one document may have."""

    tokens: int = 1_000_000
    seconds: float = 7200.0

    def check(self, tokens: int, seconds: float = 0.0) -> None:
        """Raise DocumentError (TOO_LONG) for a document beyond them."""
        if tokens > self.tokens:
            found, limit = f"its text has {tokens:,} tokens", f"{self.tokens:,} (limits.document_tokens in site.yaml)"
        elif seconds > self.seconds:
            found = f"the model worked on it for {seconds:,.0f} s and had not come to an end"
            limit = f"{self.seconds:g} s (limits.document_seconds in site.yaml)"
        else:
            return
        raise DocumentError(Failure.TOO_LONG, f"{found}; the limit is {limit}: split it, or raise the limit")


UNBOUND: Final = Bounds(2**62, math.inf)


@dataclass(frozen=True)
class Site:
    """A workspace: where it lies, and what its site.yaml says.

    `origin` names the log, `key_file` holds its private key, `public_key` is the C2SP verifier key that is trusted.
    `passphrase_file` opens the private key, if that is protected. `require_admission`: jobs run only with models and
    heads that a person admitted. `at_rest`: what is kept of documents is written and read through it. `bounds`: what a
    model may spend on a document.
    """

    root: Path
    origin: str
    key_file: Path
    public_key: str
    limits: Limits
    max_document_bytes: int
    passphrase_file: Path | None = None
    isolation: str = REQUIRED
    require_admission: bool = False
    at_rest: AtRest = CLEAR
    bounds: Bounds = Bounds()

    @property
    def audit(self) -> Path:
        """The log's folder."""
        return self.root / "audit"

    @property
    def state(self) -> Path:
        """Caches; may be deleted at any time without losing a fact, but for what waits in handover/, review/ and
        runs/."""
        return self.root / "state"

    @property
    def key_folders(self) -> tuple[Path, ...]:
        """Where the keys of what is encrypted lie, if anything is: a commit needs them on the disk."""
        return () if self.at_rest.keys is None else (self.at_rest.keys,)

    @property
    def models(self) -> Path:
        """Model files by name."""
        return self.root / "models"


@dataclass(frozen=True)
class Ocr:
    """Whether pictures of text are read, and in which languages, as Tesseract calls them; none: all installed ones."""

    enabled: bool = True
    languages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Input:
    """Where documents come from.

    `include` are glob patterns of the path below `folder`, `priority` of sub-folders that are taken first, in their
    order and with everything below them; both are matched without case.
    """

    folder: Path
    include: tuple[str, ...]
    settle_seconds: float
    afterwards: str  # "archive": moved to archive/ or failed/ when committed; "keep": left where they are
    duplicates: str = "skip"  # "process": answered again; "warn": that, with a note which document was the first
    hidden: str = "drop"  # what no person can see is not answered from; "keep": it is; "review": "drop", and a look
    ocr: Ocr = Ocr()
    priority: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeadRef:
    """The file of a learned head, and the sha256 it must have; None accepts any and reports which to pin."""

    name: str
    path: Path
    sha256: str | None


@dataclass(frozen=True)
class ModelRef:
    """A model file, and the sha256 it must have; None accepts any and reports which to pin. `widen`: its weights of 16
    bits are computed in float32, and not in 8 bits. `head`: what was learned on its vectors answers."""

    name: str
    path: Path
    sha256: str | None
    widen: bool = False
    head: HeadRef | None = None


CLUSTER_THREADS: Final = "cluster"
"""How the names of all threads begin that speak to a cluster: no others of a process may reach a network."""


@dataclass(frozen=True)
class Cluster:
    """Other machines that work on a run: the address of the scheduler at which they are listed, and the file of the
    credential with which this one speaks to them. `begin` starts the thread that does, which is not held away from
    networks as the others are."""

    scheduler: str
    credential: Path
    begin: Callable[[Thread], None] = Thread.start


@dataclass(frozen=True)
class Retention:
    """How many days archived documents, and rows with their Markdown files, are kept; None: without end."""

    archive_days: float | None = None
    rows_days: float | None = None

    @property
    def ends(self) -> bool:
        """Whether anything is ever deleted by rule."""
        return self.archive_days is not None or self.rows_days is not None


@dataclass(frozen=True)
class Quality:
    """The evaluation file of a job, the least that figures must reach on it, and whether a run is refused otherwise. It
    is not among what determines results."""

    eval: Path
    floor: Mapping[str, float]
    require: bool = True


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Somebody asked the service for a run: the id of the request, the user who left it, and when."""

    id: str
    user: str
    at: str


@dataclass(frozen=True)
class Rerun:
    """Which archived documents a run answers again, instead of what lies in the input folder.

    Without `everything` only those whose current row was made by other settings, or another model, than today's; with
    `decided` also those on whose row a person decided. Of these the ones in `states`, with one of `labels`, from
    `folder` or below it, of `night`, whose path, answer or reason has `text`; an empty tuple and None ask for nothing.
    Of all that fit, `sample` are drawn by `seed`, or by the root of the log.
    """

    everything: bool = False
    decided: bool = False
    states: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    folder: str | None = None
    night: str | None = None
    text: str | None = None
    sample: int | None = None
    seed: str | None = None


@dataclass(frozen=True)
class RunPlan:
    """One run of one job. A part is committed after `part_documents` rows or `part_seconds`, whichever is first. No
    document starts that is not expected to be done by `until`, the end of the run's window, and none at all from
    `share_until` on, when its share of the window is over because other jobs wait. `requests`: who asked the service
    for it, if anybody did."""

    site: Site
    job: str
    job_file_sha256: str
    input: Input
    model: ModelRef
    task: Task
    formats: tuple[str, ...]  # of "parquet" and "markdown"; parquet always
    retry: frozenset[Failure] | None = None  # instead of what lies in the input folder, what failed in these ways
    part_documents: int = 500
    part_seconds: float = 300.0
    retention: Retention = Retention()
    writing: Writing | None = None  # how a model that writes is used; None: nothing is said of it, or it does not write
    quality: Quality | None = None  # what must have been measured of its answers before they count
    versions: str = "all"  # "newest": of each path only the newest file is shown
    private: bool = False  # the log holds commitments instead of names and digests of documents
    until: datetime | None = None
    share_until: datetime | None = None
    requests: tuple[RunRequest, ...] = ()
    rerun: Rerun | None = None  # instead of what lies in the input folder, archived documents once more
    cluster: Cluster | None = None  # who reads and answers besides this machine
    silence: Silence | None = None  # what holds this process away from networks

    @property
    def is_batch(self) -> bool:
        """Whether what comes are files of requests, and answers go into files beside the parts."""
        return self.task.of_requests

    @property
    def keeps(self) -> bool:
        """Whether documents stay in the input folder when they are done."""
        return self.input.afterwards == "keep"

    @cached_property
    def input_folder(self) -> str:
        """Where inputs really lie: below the workspace as a relative path, so that it can be moved, else absolute."""
        folder, root = self.input.folder.resolve(), self.site.root.resolve()
        return str(folder.relative_to(root) if folder.is_relative_to(root) else folder)

    @cached_property
    def outbox(self) -> Path:
        """Finished parts, and the folder .staging/ of unfinished ones."""
        return self.site.root / "outbox" / self.job

    @cached_property
    def archive(self) -> Path:
        """The bytes of finished documents with their parsed text."""
        return self.site.root / "archive" / self.job

    @cached_property
    def failed(self) -> Path:
        """The failed documents, each with a .reason.json."""
        return self.site.root / "failed" / self.job
