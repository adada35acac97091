"""Records of a service: by what jobs start, what became of each start, and which job files were broken."""

from pipeline.records.types.base import Record, kind, member
from pipeline.records.types.values import Count, Flag, Text


@kind("start.set", "from `since` on a job starts by this cron line, or after this job", command=True)
class StartSet(Record):
    """The job, and the cron line with its time zone or the job after which it starts. All three are None for a job that
    has neither any more."""

    of_job: Text = member("job")
    since: Text
    cron: Text | None
    timezone: Text | None
    after: Text | None


@kind("start.decided", "what became of the `count` starts of a job that were due from `due` to `last`", command=True)
class StartDecided(Record):
    """The outcome, in a word, its reason in a sentence, and the run where there was one (`of_run`). All starts
    that were due at or before `last` are decided with it."""

    of_job: Text = member("job")
    due: Text
    last: Text
    count: Count
    outcome: Text
    reason: Text
    of_run: Text | None


@kind(
    "job.broken", "a job's file cannot be read; the service goes on with its last good version if `kept`", handed=True
)
class JobBroken(Record):
    """The job, the first of its problems, and whether there is an earlier version to go on with."""

    of_job: Text = member("job")
    problem: Text
    kept: Flag


@kind("job.mended", "a job's file can be read again", handed=True)
class JobMended(Record):
    """The job."""

    of_job: Text = member("job")
