"""Records of what was not so before: the version of Cloister, the log's key, a job's file and settings, a model."""

from dataclasses import dataclass

from pipeline.records.types.base import Record, kind
from pipeline.records.types.values import Sha256, Text
from pipeline.version import WorkspaceVersion


@dataclass(frozen=True, slots=True)
class JobFile:
    """The sha256 of a job's file, and the digest of its settings."""

    job_file_sha256: str
    job_digest: str


@kind("key.admitted", "the first run under this key")
class KeyAdmitted(Record):
    """The log's public key, when the first run under it begins."""

    public_key: str


@kind("key.rotated", "another key signs, from this entry on (audit/FORMAT.md)")
class KeyRotated(Record):
    """The public keys before and after, and the note by which the old one hands over. The log itself writes it."""

    old_key: str
    new_key: str
    note: str


@kind("job.admitted", "a job runs for the first time; `after`: its file and settings")
class JobAdmitted(Record):
    """A job's file and settings when it first runs; `before` is None."""

    before: JobFile | None = None
    after: JobFile


@kind("job.changed", "a job's file or settings are not those of its last run")
class JobChanged(Record):
    """A job's file and settings at its last run and now."""

    before: JobFile | None = None
    after: JobFile


@kind("model.admitted", "a model file is new under its name", command=True)
class ModelAdmitted(Record):
    """The name of a model, the sha256 of its file (`before` is None), and `by` what it came: import, quantize, run."""

    model: Text
    before: Sha256 | None = None
    after: Sha256
    by: Text


@kind("model.changed", "another model file has this name", command=True)
class ModelChanged(Record):
    """The name of a model, the sha256 of its file before and after, and `by` what it came: import, quantize, run."""

    model: Text
    before: Sha256 | None = None
    after: Sha256
    by: Text


@kind("version.changed", "another version of Cloister writes the workspace than before")
class VersionChanged(Record):
    """The version of Cloister that wrote the workspace and the format that it wrote, before and now."""

    before: WorkspaceVersion
    after: WorkspaceVersion
