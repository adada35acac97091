"""The log held against what lies there, and rows made again."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.proof.export.folder import Exported
    from pipeline.proof.judge import Verdict
    from pipeline.proof.replay import Replay
    from pipeline.proof.search import Query, Recall, jobs_and_runs
    from pipeline.proof.serving import Rule, ServiceNow
    from pipeline.proof.status import NOT_VERIFIED, JobStatus, LastVerified, StatusNow
    from pipeline.proof.story import Story
    from pipeline.proof.verify import Verification
    from pipeline.proof.words import members_in_words

__getattr__, __dir__ = surface(__name__, __file__)
