"""The record of what a job's answers were worth on documents whose answers were known."""

from pipeline.records.types.base import Record, kind, member
from pipeline.records.types.values import Count, Flag, Measures, Sha256, Text


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
