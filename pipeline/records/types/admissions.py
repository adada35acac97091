"""Records of who admitted or revoked a model file or a head, what was found when it was looked at again, and which job
went back to an earlier one."""

from pipeline.records.types.base import Record, kind, member
from pipeline.records.types.values import ModelInUse, Sha256, Text


@kind("admission.granted", "a person admits a model file or a head: the bytes with this sha256", command=True)
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


@kind("admission.revoked", "no job may use the bytes with this sha256 any more", command=True)
class AdmissionRevoked(Record):
    """The file in models/ (as it was called then) and its sha256, who revokes it, and why."""

    file: Text
    sha256: Sha256
    by: Text
    reason: Text


@kind(
    "admission.verified", "`cloister model verify`: a file and its golden answers against their admission", command=True
)
class AdmissionVerified(Record):
    """The file and the sha256 that was admitted; what was found of its bytes (same, other, gone) and of its golden
    answers (same, different, incomparable, none)."""

    file: Text
    sha256: Sha256
    bytes: Text
    answers: Text


@kind("job.rolled_back", "a job goes back to a model that it used before", command=True)
class JobRolledBack(Record):
    """The job, the model and head in its file before and after, who did it, and why."""

    of_job: Text = member("job")
    before: ModelInUse
    after: ModelInUse
    by: Text
    reason: Text
