"""Documents in, rows out: everything between a plan and a committed part."""

from pipeline.bench import Bench, Ceiling, bench_model
from pipeline.choose import Choice
from pipeline.discover import Candidate, Scan, scan
from pipeline.erasure import Erased, ErasureRefusedError, erase
from pipeline.errors import DocumentError, Failure
from pipeline.export import Exported, export
from pipeline.holds import Hold, hold, holds, release
from pipeline.isolation import Isolation, check_isolation
from pipeline.journal import Recorded, open_journal, record
from pipeline.judge import Replayed, Verdict
from pipeline.models import (
    MachineRefusedError,
    ModelRefusedError,
    check_machine,
    check_model,
    copy_model,
    examine_model,
    existing,
    glance_at_model,
    import_model,
    inspect_model,
    list_models,
    model_sha256,
    quantize_model,
    writing_of,
)
from pipeline.parse import Limits, find_tesseract
from pipeline.plan import Input, ModelRef, Ocr, Retention, RunPlan, Site
from pipeline.records import KINDS, says
from pipeline.register import model_news
from pipeline.replay import Replay, replay
from pipeline.report import Observer, RunReport
from pipeline.results import BadPartError, results
from pipeline.run import check_inbox, run
from pipeline.running import Running, running
from pipeline.search import Query, Recall, jobs_and_runs, recall, search
from pipeline.sightings import Sightings
from pipeline.software import label
from pipeline.states import State
from pipeline.status import JobStatus, status
from pipeline.story import Story, story
from pipeline.tasks import (
    TASKS,
    AskSettings,
    BatchSettings,
    ClassifySettings,
    ExtractSettings,
    Field,
    Label,
    SchemaError,
    Settings,
    SummarizeSettings,
    Writing,
)
from pipeline.unread import set_aside
from pipeline.verify import Verification, verify
from pipeline.warming import Warming
from pipeline.words import members_in_words

__all__ = [
    "KINDS",
    "TASKS",
    "AskSettings",
    "BadPartError",
    "BatchSettings",
    "Bench",
    "Candidate",
    "Ceiling",
    "Choice",
    "ClassifySettings",
    "DocumentError",
    "Erased",
    "ErasureRefusedError",
    "Exported",
    "ExtractSettings",
    "Failure",
    "Field",
    "Hold",
    "Input",
    "Isolation",
    "JobStatus",
    "Label",
    "Limits",
    "MachineRefusedError",
    "ModelRef",
    "ModelRefusedError",
    "Observer",
    "Ocr",
    "Query",
    "Recall",
    "Recorded",
    "Replay",
    "Replayed",
    "Retention",
    "RunPlan",
    "RunReport",
    "Running",
    "Scan",
    "SchemaError",
    "Settings",
    "Sightings",
    "Site",
    "State",
    "Story",
    "SummarizeSettings",
    "Verdict",
    "Verification",
    "Warming",
    "Writing",
    "bench_model",
    "check_inbox",
    "check_isolation",
    "check_machine",
    "check_model",
    "copy_model",
    "erase",
    "examine_model",
    "existing",
    "export",
    "find_tesseract",
    "glance_at_model",
    "hold",
    "holds",
    "import_model",
    "inspect_model",
    "jobs_and_runs",
    "label",
    "list_models",
    "members_in_words",
    "model_news",
    "model_sha256",
    "open_journal",
    "quantize_model",
    "recall",
    "record",
    "release",
    "replay",
    "results",
    "run",
    "running",
    "says",
    "scan",
    "search",
    "set_aside",
    "status",
    "story",
    "verify",
    "writing_of",
]
