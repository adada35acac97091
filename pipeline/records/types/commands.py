"""Records of what commands, the service and the console did: reads, checks, exports, replays, and who came."""

from pipeline.records.types.base import Record, counted, kind, member
from pipeline.records.types.values import Asked, Asking, Count, DocumentName, Flag, Numbers, Sha256, Text, Verdicts


@kind("service.started", "`cloister serve` begins", handed=True)
class ServiceStarted(Record):
    """The number of the service's process, and its version."""

    pid: Count
    version: Text


@kind("service.ended", "`cloister serve` ends", "The service ended, by {0.why}.", handed=True)
class ServiceEnded(Record):
    """The number of the service's process, and the signal or error that ended it."""

    pid: Count
    why: Text


@kind(
    "service.reloaded", "`cloister serve` read its files again; `problem`: why site.yaml stayed as it was", handed=True
)
class ServiceReloaded(Record):
    """The number of the service's process, and what is wrong with site.yaml; None where it was taken."""

    pid: Count
    problem: Text | None

    def sentence(self) -> str:
        kept = f"; site.yaml stayed as it was: {self.problem}" if self.problem else ""
        return f"The service read its files again{kept}."


@kind(
    "network.refused",
    "code of a command's process reached for a network, and was refused",
    "The command cloister {0.command} reached for a network and was refused: {0.call} to {0.address}.",
    handed=True,
)
class NetworkRefused(Record):
    """The command, the call that was refused, where to, and the file and line that asked for it."""

    command: Text
    call: Text
    address: Text
    by: Text


@kind("verified", "`cloister audit verify`: findings of each kind", handed=True)
class Verified(Record):
    """The size and root of the log that was verified, and the number of findings of each kind."""

    size: Count
    root: Sha256
    integrity: Count
    altered: Count
    added: Count
    absent: Count

    def sentence(self) -> str:
        wrong = self.integrity + self.altered + self.added
        found = f"{counted(wrong, 'thing')} wrong" if wrong else "nothing wrong"
        gone = f", {self.absent:,} taken away since" if self.absent else ""
        return f"The log and what it proves were verified: {found} in {counted(self.size, 'entry')}{gone}."


@kind("exported", "`cloister audit export` wrote the entries `first` to `end` - 1 to a folder", command=True)
class LogExported(Record):
    """The span of time that was asked for, the entries that were written, and the sha256 of export.json."""

    since: Text = member("from")
    before: Text
    first: Count
    end: Count
    export_sha256: Sha256

    def sentence(self) -> str:
        return f"Entries {self.first} to {self.end - 1} were exported."


@kind("backed_up", "`cloister backup` copied the workspace; `right`: nothing is wrong with the copy", handed=True)
class BackedUp(Record):
    """The size and root of the log that was copied, how many files, whether the keys were among them, and whether the
    copy's verification found nothing wrong."""

    size: Count
    root: Sha256
    files: Count
    keys: Flag
    right: Flag

    def sentence(self) -> str:
        keys, bad = " with its keys" if self.keys else "", "" if self.right else "; the copy is not right"
        return f"The workspace was backed up{keys}: {counted(self.files, 'file')}{bad}."


@kind("restored", "`cloister restore` made this workspace of a backup, whose log ended here", handed=True)
class WorkspaceRestored(Record):
    """The name of the backup, when it was made, the size and root of its log, how many files, whether the keys were
    among them, and how many things its verification found wrong."""

    backup: Text
    made: Text
    size: Count
    root: Sha256
    files: Count
    keys: Flag
    wrong: Count

    def sentence(self) -> str:
        found = f"; {counted(self.wrong, 'thing')} wrong" if self.wrong else ""
        of = f"the backup {self.backup}, of {counted(self.size, 'entry')}"
        return f"The workspace was restored from {of}: {counted(self.files, 'file')}{found}."


@kind("read.results", "rows were shown", handed=True)
class ReadResults(Record):
    """The job whose rows were shown (None: of all), whether only failed ones, and how many at most (None: all)."""

    of_job: Text | None = member("job")
    failed: Flag
    limit: Count | None

    def sentence(self) -> str:
        return f"The rows of {self.of_job or 'all jobs'} were shown{', those that failed' if self.failed else ''}."


@kind("read.story", "a document's story was shown", handed=True)
class ReadStory(Record):
    """The document, as the log may name it; None for a path that never got a row."""

    document: DocumentName | None


@kind(
    "read.proof", "an entry was given out with its proof", "Entry {0.entry} was given out with its proof.", handed=True
)
class ReadProof(Record):
    """The number of the entry that was given out."""

    entry: Count


@kind("read.checkpoint", "the checkpoint was given out, to be kept or cosigned", handed=True)
class ReadCheckpoint(Record):
    """The size of the log in the checkpoint that was given out."""

    size: Count


@kind("read.search", "entries of documents were searched for", handed=True)
class ReadSearch(Record):
    """A search for documents: the query, as far as the log may say it."""

    query: Asking

    def sentence(self) -> str:
        asked = ", ".join(f"{name} {value}" for name, value in self.query.items())
        return f"Documents were searched for: {asked or 'all'}."


@kind(
    "read.recall",
    "what a model touched was shown",
    "It was listed what the model {0.model_sha256:.12} touched.",
    handed=True,
)
class ReadRecall(Record):
    """The model whose results were shown."""

    model_sha256: Sha256


@kind("replayed", "rows were computed again: verdicts, and entries that came out differently", handed=True)
class RowsReplayed(Record):
    """A replay: what was asked for, how many rows could be computed again, how often each verdict fell, and the
    numbers of at most 100 entries that came out differently."""

    asked: Asked
    rows: Count
    counts: Verdicts
    different: Numbers

    def sentence(self) -> str:
        told = f"{len(self.different):,} came out differently" if self.different else "none came out differently"
        return f"{counted(self.rows, 'row')} were computed again: {told}."


@kind("notified", "the command of `notify` was called, for the cause `cause`", handed=True)
class Notified(Record):
    """The cause, the job (None: of the site), the command with its arguments, its exit code (None: it did not end by
    itself), and what went wrong with it (None: nothing)."""

    cause: Text
    of_job: Text | None = member("job")
    command: Text
    code: Count | None
    problem: Text | None

    def sentence(self) -> str:
        of, ended = f"{self.of_job}: " if self.of_job else "", f"; {self.problem}" if self.problem else ""
        return f"{of}somebody was told, for the cause {self.cause}{ended}."


@kind(
    "console.invited",
    "`cloister console invite`: somebody may use the console, in these roles",
    "{0.person} was invited to the console as {0.roles}.",
    command=True,
)
class ConsoleInvited(Record):
    """The person's name, their roles, and until when the invite is good."""

    person: Text
    roles: Text
    expires: Text


@kind(
    "console.revoked",
    "`cloister console revoke`: somebody may use the console no longer",
    "{0.person} may use the console no longer.",
    command=True,
)
class ConsoleRevoked(Record):
    """The person's name."""

    person: Text


@kind("console.signed_in", "somebody signed in to the console", "{0.person} signed in to the console.", handed=True)
class SignedIn(Record):
    """The person's name, and their roles."""

    person: Text
    roles: Text


@kind(
    "console.read",
    "somebody opened a document in the console",
    "{0.person} opened the document of entry {0.entry} in the console.",
    handed=True,
)
class ReadThere(Record):
    """The person's name, and the entry of the row that was opened with its document; once in a session of theirs."""

    person: Text
    entry: Count


@kind(
    "console.started",
    "somebody started a command from the console",
    "{0.person} started from the console: {0.command}.",
    handed=True,
)
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

    def sentence(self) -> str:
        times = "" if self.times == 1 else f", {self.times:,} times"
        return f"The console refused {self.what}{f' by {self.person}' if self.person else ''}{times}."
