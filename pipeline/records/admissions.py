"""Which model files and heads jobs may use: the last word of a person on each, by the sha256 of its bytes.

A name says nothing here: whatever a file is called, and wherever it was copied, a decision is about its bytes.
"""

from dataclasses import dataclass, field

from pipeline.errors import ModelRefusedError
from pipeline.plan import ModelRef, Site
from pipeline.records.entries import fold, read_entries
from pipeline.records.types import AdmissionGranted, AdmissionRevoked, Record


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
