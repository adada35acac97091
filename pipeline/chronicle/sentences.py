"""Here stands what an entry of the log says, as a sentence for people; its members stand beside it
(members_in_words)."""

from collections.abc import Iterable, Mapping

from pipeline.records.entries import says
from pipeline.records.types import (
    AdmissionGranted,
    AdmissionRevoked,
    AdmissionVerified,
    BackedUp,
    ClockStepped,
    ConsoleInvited,
    ConsoleRevoked,
    Deleted,
    DeletedByRule,
    Document,
    Erased,
    HandoverRefused,
    Held,
    Inputs,
    JobAdmitted,
    JobBroken,
    JobChanged,
    JobMended,
    JobRolledBack,
    LogExported,
    ModelAdmitted,
    ModelChanged,
    NetworkRefused,
    Notified,
    Part,
    Placed,
    Qualified,
    ReadProof,
    ReadRecall,
    ReadResults,
    ReadSearch,
    ReadThere,
    Record,
    RecoveredCut,
    RecoveredUndone,
    RefusedThere,
    Released,
    ReviewRefused,
    RowsReplayed,
    RunEmpty,
    RunFinished,
    RunRefused,
    RunStarted,
    RunStopped,
    ServiceEnded,
    ServiceReloaded,
    SettingsPiece,
    SignedIn,
    StartDecided,
    StartedThere,
    StartSet,
    Verified,
    VersionChanged,
    WorkspaceRestored,
)


def sentence(entry: Record) -> str:
    """Return what happened, in one sentence with a full stop."""
    kinds = (_of_run, _of_document, _of_model, _of_log, _of_start, _of_person)
    told = next((told for of in kinds if (told := of(entry))), None)
    return " ".join((told or _plain(says(entry.type) or entry.type.replace(".", " "))).split())


def _of_run(entry: Record) -> str | None:
    job = entry.job
    match entry:
        case RunStarted():
            again = ", to take up again what failed" if entry.retry else ""
            again = ", to answer archived documents again" if entry.rerun else again
            asked = f", as {' and '.join(dict.fromkeys(each.user for each in entry.requests))} asked"
            said = f"{job}: a run began with {_number(entry.ready, 'file')} and the model {entry.model}{again}"
            return f"{said}{asked if entry.requests else ''}."
        case RunFinished():
            how = {"interrupted": "was interrupted", "window_closed": "ended with its window"}.get(entry.how, "ended")
            return f"{job}: the run {how} after {entry.seconds:,.0f} seconds: {_counts(entry.counts)}."
        case RunEmpty():
            return f"{job}: a run had nothing to do."
        case RunRefused():
            return f"{job}: a run was refused: {entry.reason.rstrip('.')}."
        case RunStopped():
            return f"{job}: a full disk ended the run ({entry.where})."
        case JobAdmitted():
            return f"{job}: the job runs for the first time."
        case JobChanged():
            same = entry.before and entry.before.job_digest == entry.after.job_digest
            return (
                f"{job}: the job's file changed{', but none of the settings that determine results' if same else ''}."
            )
        case SettingsPiece():
            piece = f", piece {entry.piece + 1} of {entry.pieces}" if entry.pieces > 1 else ""
            return f"{job}: the settings {entry.job_digest[:12]} were kept{piece}."
    return None


def _of_document(entry: Record) -> str | None:
    job = entry.job
    match entry:
        case Document() if entry.review:
            return f"{job}: {entry.review.by} {entry.review.action} the answer of entry {entry.review.of}."
        case Document():
            why = f" ({entry.failure})" if entry.failure else ""
            name = "a private document" if entry.closed else entry.path
            return f"{job}: {name} is {entry.state}{why}."
        case Part():
            return f"{job}: a table of {_number(entry.rows, 'row')} was committed."
        case Placed():
            return f"{job}: a table and its documents are in place."
        case Inputs():
            files = _number(len(entry.paths), "file") if entry.paths is not None else "some files"
            return f"{job}: {files} got no row: {entry.state}."
        case DeletedByRule():
            return f"{job}: what is older than {entry.days:g} days is to be deleted, by the rule {entry.rule}."
        case Erased():
            return f"{_number(len(entry.entries), 'row')} and what they rest on are to be erased: {entry.reason}."
        case Deleted():
            return f"What entry {entry.deletion} announced is deleted."
        case Held():
            return f"{_number(len(entry.entries), 'document')} may not be deleted: {entry.reason}."
        case Released():
            return f"The hold of entry {entry.hold} ended: {entry.reason}."
        case ReviewRefused():
            return f"A decision by {entry.by or 'somebody'} was not taken up: {entry.reason}."
    return None


def _of_model(entry: Record) -> str | None:
    match entry:
        case ModelAdmitted():
            return f"The model file {entry.model} is new, by {entry.by}."
        case ModelChanged():
            return f"The model file {entry.model} is another one than before, by {entry.by}."
        case AdmissionGranted():
            return f"{entry.by} admitted {entry.file}."
        case AdmissionRevoked():
            return f"{entry.by} revoked {entry.file}: {entry.reason}."
        case AdmissionVerified():
            return f"{entry.file} was held against its admission: bytes {entry.bytes}, golden answers {entry.answers}."
        case JobRolledBack():
            return f"{entry.by} took {entry.of_job} back to the model {entry.after.model}: {entry.reason}."
        case Qualified():
            reached = (
                "" if entry.passed is None else (", and its floor reached" if entry.passed else ", below its floor")
            )
            return f"{entry.of_job} was measured on {_number(entry.examples, 'document')}{reached}."
        case ReadRecall():
            return f"It was listed what the model {entry.model_sha256[:12]} touched."
    return None


def _of_log(entry: Record) -> str | None:
    match entry:
        case Verified():
            wrong = entry.integrity + entry.altered + entry.added
            found = f"{_number(wrong, 'thing')} wrong" if wrong else "nothing wrong"
            gone = f", {entry.absent:,} taken away since" if entry.absent else ""
            return f"The log and what it proves were verified: {found} in {_number(entry.size, 'entry')}{gone}."
        case LogExported():
            return f"Entries {entry.first} to {entry.end - 1} were exported."
        case BackedUp():
            keys, bad = " with its keys" if entry.keys else "", "" if entry.right else "; the copy is not right"
            return f"The workspace was backed up{keys}: {_number(entry.files, 'file')}{bad}."
        case WorkspaceRestored():
            found = f"; {_number(entry.wrong, 'thing')} wrong" if entry.wrong else ""
            of = f"the backup {entry.backup}, of {_number(entry.size, 'entry')}"
            return f"The workspace was restored from {of}: {_number(entry.files, 'file')}{found}."
        case RowsReplayed():
            told = f"{len(entry.different):,} came out differently" if entry.different else "none came out differently"
            return f"{_number(entry.rows, 'row')} were computed again: {told}."
        case ClockStepped():
            return f"The clock was set by {entry.seconds:+,.0f} seconds."
        case RecoveredCut():
            return f"What an interrupted commit had left was cut: {_number(entry.bytes, 'byte')}."
        case RecoveredUndone():
            return "Files that were never committed were removed."
        case HandoverRefused():
            return f"What lay in state/handover/ was no record: {entry.reason}."
        case VersionChanged():
            return f"Cloister {entry.after.version} writes from here on; {entry.before.version} did before."
        case ServiceReloaded():
            kept = f"; site.yaml stayed as it was: {entry.problem}" if entry.problem else ""
            return f"The service read its files again{kept}."
        case ServiceEnded():
            return f"The service ended, by {entry.why}."
        case Notified():
            of = f"{entry.of_job}: " if entry.of_job else ""
            ended = f"; {entry.problem}" if entry.problem else ""
            return f"{of}somebody was told, for the cause {entry.cause}{ended}."
        case NetworkRefused():
            refused = f"was refused: {entry.call} to {entry.address}"
            return f"The command cloister {entry.command} reached for a network and {refused}."
        case ReadProof():
            return f"Entry {entry.entry} was given out with its proof."
        case ReadResults():
            return (
                f"The rows of {entry.of_job or 'all jobs'} were shown{', those that failed' if entry.failed else ''}."
            )
        case ReadSearch():
            asked = ", ".join(f"{name} {value}" for name, value in entry.query.items())
            return f"Documents were searched for: {asked or 'all'}."
    return None


def _of_start(entry: Record) -> str | None:
    match entry:
        case StartSet():
            how = f"by {entry.cron} ({entry.timezone})" if entry.cron else entry.after and f"after {entry.after}"
            return f"{entry.of_job}: the service starts it {how or 'neither by a schedule nor after a job'}."
        case StartDecided():
            starts = "the start" if entry.count == 1 else f"{entry.count:,} starts"
            return f"{entry.of_job}: {starts} due at {entry.due[:16]} UTC: {entry.outcome}; {entry.reason}."
        case JobBroken():
            on = "; its last good version goes on" if entry.kept else ""
            return f"{entry.of_job}: the job's file is broken{on}: {entry.problem}."
        case JobMended():
            return f"{entry.of_job}: the job's file is mended."
    return None


def _of_person(entry: Record) -> str | None:
    match entry:
        case ConsoleInvited():
            return f"{entry.person} was invited to the console as {entry.roles}."
        case ConsoleRevoked():
            return f"{entry.person} may use the console no longer."
        case SignedIn():
            return f"{entry.person} signed in to the console."
        case ReadThere():
            return f"{entry.person} opened the document of entry {entry.entry} in the console."
        case StartedThere():
            return f"{entry.person} started from the console: {entry.command}."
        case RefusedThere():
            times = "" if entry.times == 1 else f", {entry.times:,} times"
            return f"The console refused {entry.what}{f' by {entry.person}' if entry.person else ''}{times}."
    return None


def _counts(counts: Mapping[str, int]) -> str:
    told: Iterable[str] = (f"{number:,} {state}" for state, number in counts.items() if number)
    return ", ".join(told) or "no documents"


def _number(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def _plain(text: str) -> str:
    """Return what the table of types says, as a sentence."""
    told = text.replace("`", "")
    return f"{told[:1].upper()}{told[1:]}."
