"""The record of a sample of rows that a person checks."""

from pipeline.records.types.base import Record, kind, member
from pipeline.records.types.values import Count, Numbers, Text


@kind("sampled", "`cloister review sample`: rows were drawn for a person to check", handed=True)
class Sampled(Record):
    """Rows of a job that were drawn by a seed, by their entries (pipeline/review/sampling.py has the rule): of its
    `population` rows that held when the log had `size` entries, that were done, and that nobody had decided; with a
    `label`, of those that had it. `by`: who drew them."""

    of_job: Text = member("job")
    label: Text | None
    seed: Text
    size: Count
    population: Count
    entries: Numbers
    by: Text
