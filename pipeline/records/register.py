"""The last words of the log on keys, jobs, models and inputs that got no row: a run tells what is new.

A person's decision on a model file or a head is about the sha256 of its bytes, whatever the file is called.
"""

import hashlib
import sys
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field

import audit
from pipeline.errors import ModelRefusedError
from pipeline.plan import ModelRef, RunPlan, Site
from pipeline.records.entries import fold, read_entries
from pipeline.records.types import (
    AdmissionGranted,
    AdmissionRevoked,
    Document,
    Inputs,
    JobAdmitted,
    JobChanged,
    JobFile,
    KeyAdmitted,
    KeyRotated,
    ModelAdmitted,
    ModelChanged,
    Record,
    RunStarted,
)


@dataclass(frozen=True)
class Decision:
    """A person's decision on a file, called `file` then: it is admitted, or revoked for a `reason`. `number` is the
    entry that says so."""

    number: int
    time: str
    by: str
    file: str
    reason: str | None = None

    @property
    def revoked(self) -> bool:
        """Whether no job may use it."""
        return self.reason is not None

    def in_words(self) -> str:
        """The decision in a few words, as lists have them."""
        return f"{'revoked' if self.revoked else 'admitted'} by {self.by}, {self.time[:10]}"


@dataclass
class Admissions:
    """The last decision on each file, by its sha256."""

    last: dict[str, Decision] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        match entry:
            case AdmissionGranted():
                self.last[entry.sha256] = Decision(entry.n, entry.time, entry.by, entry.file)
            case AdmissionRevoked():
                self.last[entry.sha256] = Decision(entry.n, entry.time, entry.by, entry.file, entry.reason)

    @property
    def newest(self) -> int:
        """The number of the last entry that decided anything; -1 if none did."""
        return max((each.number for each in self.last.values()), default=-1)

    def refusal(self, file: str, sha256: str, *, required: bool) -> str | None:
        """Why no job may use this file of models/ with these bytes; None if one may. `required`: only what is admitted
        may be used."""
        decision = self.last.get(sha256)
        if decision is not None and decision.revoked:
            name = f", as {decision.file}," if decision.file not in ("", file) else ""
            when = f"{decision.time[:10]} at {decision.time[11:16]} UTC"
            return (
                f"models/{file} (sha256 {sha256}) was revoked{name} by {decision.by} on {when}, as entry "
                f"{decision.number} says: {decision.reason}; let the job name another one (`cloister model rollback "
                f"JOB` goes back to the one that it used before), or admit it anew with `cloister model admit {file} "
                "--again`"
            )
        if decision is None and required:
            return (
                f"models/{file} (sha256 {sha256}) is not admitted, and site.yaml says models: {{require_admission: "
                f"true}}; `cloister model admit {file}` admits it"
            )
        return None


def refusal_of(model: ModelRef, known: Admissions, *, required: bool) -> str | None:
    """Why no run may use a job's model or its head, as far as their sha256 are known; None if it may."""
    told = known.refusal(f"{model.name}.gguf", model.sha256, required=required) if model.sha256 else None
    if told is not None:
        return f"model {model.name}: {told}"
    head = model.head
    told = known.refusal(f"{head.name}.head", head.sha256, required=required) if head and head.sha256 else None
    return f"head {head.name}: {told}" if head and told else None


def check_admitted(site: Site, model: ModelRef, known: Admissions) -> None:
    """ModelRefusedError if a run may not use the model, or its head, whose sha256 are known."""
    if told := refusal_of(model, known, required=site.require_admission):
        raise ModelRefusedError(told)


def read_admissions(site: Site) -> Admissions:
    """The decisions in the log. audit.AuditError."""
    return fold(read_entries(site), Admissions())


@dataclass
class Register:
    """The last words of the log about keys, jobs and models, and on which of these jobs may use. A run says the same of
    its job and model as a record of them."""

    key: str | None = None
    jobs: dict[str, JobFile] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    admissions: Admissions = field(default_factory=Admissions)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        match entry:
            case KeyAdmitted():
                self.key = entry.public_key
            case KeyRotated():
                self.key = entry.new_key
            case JobAdmitted() | JobChanged():
                self.jobs[entry.job] = entry.after
            case ModelAdmitted() | ModelChanged():
                self.models[entry.model] = entry.after
            case RunStarted():
                self.jobs[entry.job] = JobFile(entry.job_file_sha256, entry.job_digest)
                self.models[entry.model] = entry.model_sha256
            case _:
                self.admissions.take(entry)

    def news(self, plan: RunPlan, digest: str, model_sha256: str) -> Iterator[Record]:
        """The records of what is new."""
        if self.key is None:
            yield KeyAdmitted(public_key=plan.site.public_key)
        job, before = JobFile(plan.job_file_sha256, digest), self.jobs.get(plan.job)
        if job != before:
            yield (JobChanged if before else JobAdmitted)(before=before, after=job)
        yield from model_news(plan.model.name, self.models.get(plan.model.name), model_sha256, "run")


def model_news(name: str, before: str | None, after: str, by: str) -> Iterator[Record]:
    """The record of a model file that was another one `before`, or none."""
    if before != after:
        yield (ModelChanged if before else ModelAdmitted)(model=name, before=before, after=after, by=by)


# Files that stay in a folder, such as one that no pattern takes, are seen by every run. The log tells of them once, and
# again when the reason is another one; of files that were not read it tells how each lay (inbox/find.py).
_ENTRY_BYTES = 48_000  # of paths: an entry may have 65,535 in all

Disposition = tuple[str, str, str]  # state, reason, path
Unread = tuple[str, str]
"""The digest of how a file lay, and the failure."""


@dataclass
class Dispositions:
    """The dispositions of one job: digest of a path -> state and reason that the log gave it last."""

    _said: dict[bytes, str] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in an entry of this job: the paths that it says got no row."""
        if isinstance(entry, Inputs):
            said = sys.intern(f"{entry.state} {entry.reason}")
            self._said.update((_digest(path), said) for path in entry.paths or ())

    def forget(self, path: str) -> None:
        """The path got a row: what comes there next is another file."""
        if self._said:
            self._said.pop(_digest(path), None)

    def __post_init__(self) -> None:
        self._said = {key: sys.intern(said) for key, said in self._said.items()}

    def news(self, inputs: Iterable[Disposition]) -> Iterator[Inputs]:
        """The records of those that the log does not have; it is taken to have them from now on."""
        grouped: dict[tuple[str, str], list[str]] = {}
        for state, reason, path in inputs:
            said, key = f"{state} {reason}", _digest(path)
            if self._said.get(key) != said:
                self._said[key] = sys.intern(said)
                grouped.setdefault((state, reason), []).append(path)
        for (state, reason), paths in grouped.items():
            for some in _pieces(paths):
                yield Inputs(state=state, reason=reason, paths=tuple(some))


def _digest(path: str) -> bytes:
    return hashlib.blake2b(path.encode(), digest_size=12).digest()


def _pieces(paths: Sequence[str]) -> Iterator[list[str]]:
    piece: list[str] = []
    size = 0
    for path in paths:
        size += len(audit.canonical(path)) + 1
        if piece and size > _ENTRY_BYTES:
            yield piece
            piece, size = [], len(audit.canonical(path)) + 1
        piece.append(path)
    if piece:
        yield piece


def remember(unread: MutableMapping[str, Unread], entry: Document) -> None:
    """Take in a document's entry, in the order of the log: what was read at a path since is no longer unread."""
    if entry.parent is not None:
        return
    if entry.document is None and entry.unread:
        unread[entry.path] = (entry.unread, entry.failure or "")
    else:
        unread.pop(entry.path, None)
