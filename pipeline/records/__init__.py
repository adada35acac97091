"""The log as the pipeline writes and reads it."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.records.costs import AllCosts, Costs, Held, JobCosts, MetFiles
    from pipeline.records.drop import Drop, LeftFile, RefusedFile
    from pipeline.records.entries import Tally, entries_at, meaning, read_entries, tally
    from pipeline.records.journal import Recorded, look_at_clock, open_journal, record
    from pipeline.records.private import refuse_open
    from pipeline.records.register import (
        Admissions,
        Decision,
        Register,
        check_admitted,
        model_news,
        read_admissions,
        refusal_of,
    )
    from pipeline.records.settings import Difference, differences, label, read_settings, settings_in_words
    from pipeline.records.types import (
        KINDS,
        ConsoleInvited,
        ConsoleRevoked,
        Document,
        Isolation,
        JobBroken,
        JobMended,
        ModelAndHead,
        NetworkRefused,
        Notified,
        ReadCheckpoint,
        ReadProof,
        ReadRecall,
        ReadResults,
        ReadStory,
        ReadThere,
        Record,
        RefusedThere,
        RunFinished,
        RunStarted,
        Sampled,
        ServiceEnded,
        ServiceReloaded,
        ServiceStarted,
        SignedIn,
        StartDecided,
        StartedThere,
        StartSet,
        Verified,
    )

__getattr__, __dir__ = surface(__name__, __file__)
