"""Records of what is admitted, changed or measured: keys, versions, jobs, model files and heads."""

from dataclasses import dataclass

from pipeline.records.types.base import Record, counted, kind, member
from pipeline.records.types.values import Count, Flag, Measures, ModelInUse, Sha256, Text
from pipeline.version import WorkspaceVersion


@kind(
    "admission.granted",
    "a person admits a model file or a head: the bytes with this sha256",
    "{0.by} admitted {0.file}.",
    command=True,
)
class AdmissionGranted(Record):
    """The file in models/ and its sha256, who admits it, its licence and where it comes from; the sha256 of the golden
    texts and of what it answered to them, and the arithmetic that computed it (None where it was asked nothing)."""

    file: Text
    sha256: Sha256
    by: Text
    licence: Text
    origin: Text
    golden_sha256: Sha256 | None
    answers_sha256: Sha256 | None
    numerics: Text | None


@kind(
    "admission.revoked",
    "no job may use the bytes with this sha256 any more",
    "{0.by} revoked {0.file}: {0.reason}.",
    command=True,
)
class AdmissionRevoked(Record):
    """The file in models/ (as it was called then) and its sha256, who revokes it, and why."""

    file: Text
    sha256: Sha256
    by: Text
    reason: Text


@kind(
    "admission.verified",
    "`cloister model verify`: a file and its golden answers against their admission",
    "{0.file} was held against its admission: bytes {0.bytes}, golden answers {0.answers}.",
    command=True,
)
class AdmissionVerified(Record):
    """The file and the sha256 that was admitted; what was found of its bytes (same, other, gone) and of its golden
    answers (same, different, incomparable, none)."""

    file: Text
    sha256: Sha256
    bytes: Text
    answers: Text


@kind(
    "job.rolled_back",
    "a job goes back to a model that it used before",
    "{0.by} took {0.of_job} back to the model {0.after.model}: {0.reason}.",
    command=True,
)
class JobRolledBack(Record):
    """The job, the model and head in its file before and after, who did it, and why."""

    of_job: Text = member("job")
    before: ModelInUse
    after: ModelInUse
    by: Text
    reason: Text


@kind("qualified", "`cloister qualify`: how often a job was right on documents whose answers were known", command=True)
class Qualified(Record):
    """The job and its task; the file of evaluation examples (`eval` is empty for a private job), its digest with the
    documents that it names, the number of examples and the digest of their texts; the settings, model, learned head and
    arithmetic that answered them; what was measured, the floor that was asked for, and whether all of it was reached.
    """

    of_job: Text = member("job")
    task: Text
    eval: Text
    eval_sha256: Sha256
    examples: Count
    examples_sha256: Sha256
    job_digest: Sha256
    model: Text
    model_sha256: Sha256
    head: Text | None
    head_sha256: Sha256 | None
    numerics: Text
    metrics: Measures
    floor: Measures
    passed: Flag

    def sentence(self) -> str:
        reached = {None: "", True: ", and its floor reached", False: ", below its floor"}[self.passed]
        return f"{self.of_job} was measured on {counted(self.examples, 'document')}{reached}."


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


@kind(
    "job.admitted",
    "a job runs for the first time; `after`: its file and settings",
    "{0.job}: the job runs for the first time.",
)
class JobAdmitted(Record):
    """A job's file and settings when it first runs; `before` is None."""

    before: JobFile | None = None
    after: JobFile


@kind("job.changed", "a job's file or settings are not those of its last run")
class JobChanged(Record):
    """A job's file and settings at its last run and now."""

    before: JobFile | None = None
    after: JobFile

    def sentence(self) -> str:
        same = self.before and self.before.job_digest == self.after.job_digest
        return (
            f"{self.job}: the job's file changed{', but none of the settings that determine results' if same else ''}."
        )


@kind(
    "model.admitted", "a model file is new under its name", "The model file {0.model} is new, by {0.by}.", command=True
)
class ModelAdmitted(Record):
    """The name of a model, the sha256 of its file (`before` is None), and `by` what it came: import, quantize, run."""

    model: Text
    before: Sha256 | None = None
    after: Sha256
    by: Text


@kind(
    "model.changed",
    "another model file has this name",
    "The model file {0.model} is another one than before, by {0.by}.",
    command=True,
)
class ModelChanged(Record):
    """The name of a model, the sha256 of its file before and after, and `by` what it came: import, quantize, run."""

    model: Text
    before: Sha256 | None = None
    after: Sha256
    by: Text


@kind(
    "version.changed",
    "another version of Cloister writes the workspace than before",
    "Cloister {0.after.version} writes from here on; {0.before.version} did before.",
)
class VersionChanged(Record):
    """The version of Cloister that wrote the workspace and the format that it wrote, before and now."""

    before: WorkspaceVersion
    after: WorkspaceVersion
