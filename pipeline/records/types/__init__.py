"""Every type of record in the log, one frozen dataclass each; the table in the README of the room is made of them."""

from pipeline.records.types.admissions import AdmissionGranted, AdmissionRevoked, AdmissionVerified, JobRolledBack
from pipeline.records.types.base import Handed, Json, Record, members_of
from pipeline.records.types.changes import (
    JobAdmitted,
    JobChanged,
    JobFile,
    KeyAdmitted,
    KeyRotated,
    ModelAdmitted,
    ModelChanged,
    VersionChanged,
)
from pipeline.records.types.commands import (
    BackedUp,
    LogExported,
    NetworkRefused,
    Notified,
    ReadCheckpoint,
    ReadProof,
    ReadRecall,
    ReadResults,
    ReadSearch,
    ReadStory,
    RowsReplayed,
    ServiceEnded,
    ServiceReloaded,
    ServiceStarted,
    Verified,
    WorkspaceRestored,
)
from pipeline.records.types.console import (
    ConsoleInvited,
    ConsoleRevoked,
    ReadThere,
    RefusedThere,
    SignedIn,
    StartedThere,
)
from pipeline.records.types.deletions import (
    Deleted,
    DeletedByRule,
    Deletion,
    Erased,
    Held,
    Released,
    RewrittenPart,
)
from pipeline.records.types.documents import Document, Earlier, MadeFile, ParseOptions, Part, Placed, Worker
from pipeline.records.types.quality import Qualified
from pipeline.records.types.recovery import ClockStepped, HandoverRefused, RecoveredCut, RecoveredUndone
from pipeline.records.types.reports import Pace, Reported, Shares
from pipeline.records.types.reviews import (
    ACCEPTED,
    ACTIONS,
    CORRECTED,
    REJECTED,
    Reviewed,
    ReviewerKeyAdmitted,
    ReviewRefused,
)
from pipeline.records.types.runs import (
    Foreseen,
    Inputs,
    Isolation,
    RerunAsked,
    RunEmpty,
    RunFinished,
    RunRefused,
    RunStarted,
    RunStopped,
    SettingsPiece,
)
from pipeline.records.types.samples import Sampled
from pipeline.records.types.starts import JobBroken, JobMended, StartDecided, StartSet
from pipeline.records.types.values import ModelAndHead

_ALL: tuple[type[Record], ...] = (
    *(ServiceStarted, ServiceReloaded, ServiceEnded, Notified, NetworkRefused),
    *(StartSet, StartDecided, JobBroken, JobMended),
    VersionChanged,
    *(KeyAdmitted, KeyRotated, JobAdmitted, JobChanged, ModelAdmitted, ModelChanged),
    *(AdmissionGranted, AdmissionRevoked, AdmissionVerified, JobRolledBack),
    *(RunStarted, RunEmpty, RunFinished, RunRefused, RunStopped, SettingsPiece, Inputs),
    *(Document, Part, Placed),
    *(ReviewerKeyAdmitted, ReviewRefused),
    *(Document, Part, Placed, Reported),
    *(DeletedByRule, Erased, Deleted, Held, Released),
    *(RecoveredCut, RecoveredUndone, HandoverRefused, ClockStepped),
    *(Verified, LogExported, BackedUp, WorkspaceRestored),
    *(ReadResults, ReadStory, ReadProof, ReadCheckpoint, ReadSearch, ReadRecall, RowsReplayed),
    *(Qualified, Sampled),
    *(ConsoleInvited, ConsoleRevoked, SignedIn, ReadThere, StartedThere, RefusedThere),
)

KINDS = {each.TYPE: each for each in _ALL}
"""Type -> its class, in the order of the table."""
