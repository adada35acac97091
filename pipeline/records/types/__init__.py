"""Every type of record in the log, one frozen dataclass each; the table in the README of the room is made of them."""

from pipeline.records.types import admissions, commands, documents, runs
from pipeline.records.types.admissions import (
    AdmissionGranted,
    AdmissionRevoked,
    AdmissionVerified,
    JobAdmitted,
    JobChanged,
    JobFile,
    JobRolledBack,
    KeyAdmitted,
    KeyRotated,
    ModelAdmitted,
    ModelChanged,
    Qualified,
    VersionChanged,
)
from pipeline.records.types.base import Handed, Json, Record, members_of
from pipeline.records.types.commands import (
    BackedUp,
    ConsoleInvited,
    ConsoleRevoked,
    LogExported,
    NetworkRefused,
    Notified,
    ReadCheckpoint,
    ReadProof,
    ReadRecall,
    ReadResults,
    ReadSearch,
    ReadStory,
    ReadThere,
    RefusedThere,
    RowsReplayed,
    ServiceEnded,
    ServiceReloaded,
    ServiceStarted,
    SignedIn,
    StartedThere,
    Verified,
    WorkspaceRestored,
)
from pipeline.records.types.documents import (
    ACCEPTED,
    ACTIONS,
    CORRECTED,
    REJECTED,
    Deleted,
    DeletedByRule,
    Deletion,
    Document,
    Earlier,
    Erased,
    Held,
    MadeFile,
    Pace,
    ParseOptions,
    Part,
    Placed,
    Released,
    Reported,
    Reviewed,
    ReviewerKeyAdmitted,
    ReviewRefused,
    RewrittenPart,
    Sampled,
    Shares,
    Worker,
)
from pipeline.records.types.runs import (
    ClockStepped,
    Foreseen,
    HandoverRefused,
    Inputs,
    Isolation,
    JobBroken,
    JobMended,
    RecoveredCut,
    RecoveredUndone,
    RerunAsked,
    RunEmpty,
    RunFinished,
    RunRefused,
    RunStarted,
    RunStopped,
    SettingsPiece,
    StartDecided,
    StartSet,
)
from pipeline.records.types.values import ModelAndHead

_MODULES = (admissions, commands, documents, runs)
KINDS = {
    each.TYPE: each
    for module in _MODULES
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Record) and each.TYPE
}
"""Type -> its class."""
