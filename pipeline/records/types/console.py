"""Records of the console: who was let in, who came, what people started there, and what was refused."""

from pipeline.records.types.base import Record, kind, member
from pipeline.records.types.values import Count, Text


@kind("console.invited", "`cloister console invite`: somebody may use the console, in these roles", command=True)
class ConsoleInvited(Record):
    """The person's name, their roles, and until when the invite is good."""

    person: Text
    roles: Text
    expires: Text


@kind("console.revoked", "`cloister console revoke`: somebody may use the console no longer", command=True)
class ConsoleRevoked(Record):
    """The person's name."""

    person: Text


@kind("console.signed_in", "somebody signed in to the console", handed=True)
class SignedIn(Record):
    """The person's name, and their roles."""

    person: Text
    roles: Text


@kind("console.read", "somebody opened a document in the console", handed=True)
class ReadThere(Record):
    """The person's name, and the entry of the row that was opened with its document; once in a session of theirs."""

    person: Text
    entry: Count


@kind("console.started", "somebody started a command from the console", handed=True)
class StartedThere(Record):
    """The person's name, the command as it would be typed, and its job, if it is one job's."""

    person: Text
    command: Text
    of_job: Text | None = member("job")


@kind("console.refused", "the console refused attempts of one kind", handed=True)
class RefusedThere(Record):
    """Holds what was refused, the person who was signed in ("" if nobody was), and how often it happened."""

    what: Text
    person: Text
    times: Count
