"""Documents in, rows out: everything between a plan and a committed part. See README.md.

What is public is imported when it is first asked for: commands that process nothing do not wait for tables and kernels.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.answer.heads import promises_of, with_head
    from pipeline.answer.machine import Machine, Warming, kernels_of, look_at_machine
    from pipeline.answer.models import (
        check_machine,
        check_model,
        copy_head,
        copy_model,
        examine_model,
        existing,
        glance_at_model,
        import_model,
        inspect_model,
        is_gguf,
        list_models,
        model_sha256,
        quantize_model,
        same_use,
        writing_of,
    )
    from pipeline.answer.today import digest_today, remembered_sha256
    from pipeline.atrest.errors import DamagedError, EncryptedError
    from pipeline.atrest.files import AtRest, Rewrapped, rewrap
    from pipeline.atrest.store import make_kek, store_of
    from pipeline.backup.making import BackedUpNow, NeverStillError, back_up
    from pipeline.backup.manifest import BackupRefusedError
    from pipeline.backup.restoring import Restored, restore
    from pipeline.bench.measure import Bench, Ceiling, bench_model
    from pipeline.cluster.authority import issue_credential, make_credentials
    from pipeline.cluster.look import look_at_workers
    from pipeline.cluster.peers import HEAD_ROLE, WORKER_ROLE, read_credential
    from pipeline.cluster.serving import run_scheduler, run_worker
    from pipeline.control.admit import Admitted, Checked, Note, NotStatedError, Revoked, admit, revoke, verify_models
    from pipeline.control.compare import Comparison, Said, compare, read_lines
    from pipeline.control.files import find_file, list_heads
    from pipeline.control.rollback import NothingBeforeError, RolledBack, roll_back
    from pipeline.document import Evidence, Row
    from pipeline.errors import BadPartError, DocumentError, Failure, MachineRefusedError, ModelRefusedError
    from pipeline.forecast import Expected, File, Outlook, Span, median_errors, outlook
    from pipeline.heads import head_path, read_head
    from pipeline.inbox.batches import Sightings
    from pipeline.inbox.discover import Candidate, Scan, scan
    from pipeline.inbox.find import check_inbox, set_aside
    from pipeline.inbox.reader import Protection, protections_here
    from pipeline.index.index import Index, items_in_order, open_index, rows_in_order
    from pipeline.index.values import SORTS, Day, Filter, Happening, Item, ModelUse, Night, Page, RunTold, Throughput
    from pipeline.keep.erasure import Erased, ErasureRefusedError, erase
    from pipeline.keep.holds import Hold, hold, holds, release
    from pipeline.kernel.network import WATCHED, Silence, refuse_network, watch_network
    from pipeline.learn.learning import LearnReport, learn_head
    from pipeline.outbox.results import results
    from pipeline.outbox.running import Running, running
    from pipeline.outbox.schema import result_sha256
    from pipeline.outbox.space import look_before_run
    from pipeline.outbox.tables import FORMATS
    from pipeline.outbox.tables.base import TableRefusedError
    from pipeline.outbox.tables.writing import original_of, write_table
    from pipeline.pages.axes import Tick, axis
    from pipeline.pages.template import render_page
    from pipeline.parse import Limits, find_tesseract
    from pipeline.parse.view.seen import Mark
    from pipeline.paths.beneath import HELD_OPEN, shared_with
    from pipeline.plan import (
        CLUSTER_THREADS,
        Bounds,
        Cluster,
        HeadRef,
        Input,
        ModelRef,
        Ocr,
        Quality,
        Rerun,
        Retention,
        RunPlan,
        RunRequest,
        Site,
    )
    from pipeline.proof.choose import Choice
    from pipeline.proof.export.folder import Exported, export
    from pipeline.proof.judge import Replayed, Verdict
    from pipeline.proof.replay import Replay, replay
    from pipeline.proof.search import Query, Recall, jobs_and_runs, recall, search
    from pipeline.proof.serving import Known, Rule, ServiceNow
    from pipeline.proof.status import NOT_VERIFIED, JobStatus, LastVerified, StatusNow, status
    from pipeline.proof.story import Story, story
    from pipeline.proof.verify import Verification, verify
    from pipeline.proof.words import members_in_words
    from pipeline.quality.gate import check_quality
    from pipeline.quality.page import write_page
    from pipeline.quality.qualify import Asked, Measured, Prices, Qualification, qualify
    from pipeline.records.costs import AllCosts, Costs, Held, JobCosts, MetFiles
    from pipeline.records.drop import Drop, LeftFile, RefusedFile
    from pipeline.records.entries import Tally, entries_at, meaning, read_entries, tally
    from pipeline.records.journal import ClockSeen, Recorded, look_at_clock, open_journal, record
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
        Reviewed,
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
    from pipeline.report import COMPUTING, READING, Observer, Rerunning, RunReport, joined
    from pipeline.rerun import RERUNNABLE, Rechosen, foresee_rerun
    from pipeline.review.deciding import (
        RefusedReview,
        Review,
        ReviewOutcome,
        decide,
        reviews_refused,
        reviews_waiting,
        take_up_reviews,
    )
    from pipeline.review.examples import REVIEW, review_examples
    from pipeline.review.sampling import Standing, draw, new_seed, samples, standing
    from pipeline.review.seen import entry_of, job_of, row_of
    from pipeline.review.sheets import (
        REVIEWABLE,
        SHEETS,
        BadSheetError,
        Filled,
        format_csv,
        format_jsonl,
        parse_sheet,
        seen_digits,
    )
    from pipeline.run import run
    from pipeline.stages.ahead import Memory, known_costs, machines_of, memory_of, model_of, waiting
    from pipeline.states import OF_RUNS, State
    from pipeline.tasks import (
        FIGURES,
        MEASURES,
        NOT_BLANK,
        TASKS,
        AskSettings,
        BatchSettings,
        ClassifySettings,
        ExtractSettings,
        Field,
        Key,
        Label,
        Line,
        SettingsError,
        SummarizeSettings,
        Task,
        Value,
        Writing,
        keys_of,
        kind_of,
        task_of,
    )
    from pipeline.tasks.correcting import ReviewRefusedError
    from pipeline.tasks.examples import ExamplesRefusedError
    from pipeline.tasks.judging import FieldScore, Figure, LabelScore
    from pipeline.version import FORMAT, VERSION_FILE, WorkspaceRefusedError, check_version, write_version
    from pipeline.view.drawer import Drawer
    from pipeline.view.places import Place
    from pipeline.view.structure import Block, Marked, blocks_of
    from pipeline.view.unseen import WAYS
    from pipeline.view.viewed import Drawn, NotShownError, Viewed, draw_page, open_document
    from pipeline.view.windows import window_at, windows_of

_LATER = {
    "pipeline.answer.heads": "promises_of with_head",
    "pipeline.answer.machine": "Machine Warming kernels_of look_at_machine",
    "pipeline.answer.models": (
        "check_machine check_model copy_head copy_model examine_model existing glance_at_model import_model "
        "inspect_model is_gguf list_models model_sha256 quantize_model same_use writing_of"
    ),
    "pipeline.answer.today": "digest_today remembered_sha256",
    "pipeline.atrest.errors": "DamagedError EncryptedError",
    "pipeline.atrest.files": "AtRest Rewrapped rewrap",
    "pipeline.atrest.store": "make_kek store_of",
    "pipeline.backup.making": "BackedUpNow NeverStillError back_up",
    "pipeline.backup.manifest": "BackupRefusedError",
    "pipeline.backup.restoring": "Restored restore",
    "pipeline.bench.measure": "Bench Ceiling bench_model",
    "pipeline.cluster.authority": "issue_credential make_credentials",
    "pipeline.cluster.look": "look_at_workers",
    "pipeline.cluster.peers": "HEAD_ROLE WORKER_ROLE read_credential",
    "pipeline.cluster.serving": "run_scheduler run_worker",
    "pipeline.control.admit": "Admitted Checked Note NotStatedError Revoked admit revoke verify_models",
    "pipeline.control.compare": "Comparison Said compare read_lines",
    "pipeline.control.files": "find_file list_heads",
    "pipeline.control.rollback": "NothingBeforeError RolledBack roll_back",
    "pipeline.document": "Evidence Row",
    "pipeline.errors": "BadPartError DocumentError Failure MachineRefusedError ModelRefusedError",
    "pipeline.forecast": "Expected File Outlook Span median_errors outlook",
    "pipeline.heads": "head_path read_head",
    "pipeline.inbox.batches": "Sightings",
    "pipeline.inbox.discover": "Candidate Scan scan",
    "pipeline.inbox.find": "check_inbox set_aside",
    "pipeline.inbox.reader": "Protection protections_here",
    "pipeline.index.index": "Index items_in_order open_index rows_in_order",
    "pipeline.index.values": "SORTS Day Filter Happening Item ModelUse Night Page RunTold Throughput",
    "pipeline.keep.erasure": "Erased ErasureRefusedError erase",
    "pipeline.keep.holds": "Hold hold holds release",
    "pipeline.kernel.network": "WATCHED Silence refuse_network watch_network",
    "pipeline.learn.learning": "LearnReport learn_head",
    "pipeline.outbox.results": "results",
    "pipeline.outbox.running": "Running running",
    "pipeline.outbox.schema": "result_sha256",
    "pipeline.outbox.space": "look_before_run",
    "pipeline.outbox.tables": "FORMATS",
    "pipeline.outbox.tables.base": "TableRefusedError",
    "pipeline.outbox.tables.writing": "original_of write_table",
    "pipeline.pages.axes": "Tick axis",
    "pipeline.pages.template": "render_page",
    "pipeline.parse": "Limits find_tesseract",
    "pipeline.parse.view.seen": "Mark",
    "pipeline.paths.beneath": "HELD_OPEN shared_with",
    "pipeline.plan": (
        "CLUSTER_THREADS Bounds Cluster HeadRef Input ModelRef Ocr Quality Rerun Retention RunPlan RunRequest Site"
    ),
    "pipeline.proof.choose": "Choice",
    "pipeline.proof.export.folder": "Exported export",
    "pipeline.proof.judge": "Replayed Verdict",
    "pipeline.proof.replay": "Replay replay",
    "pipeline.proof.search": "Query Recall jobs_and_runs recall search",
    "pipeline.proof.serving": "Known Rule ServiceNow",
    "pipeline.proof.status": "NOT_VERIFIED JobStatus LastVerified StatusNow status",
    "pipeline.proof.story": "Story story",
    "pipeline.proof.verify": "Verification verify",
    "pipeline.proof.words": "members_in_words",
    "pipeline.quality.gate": "check_quality",
    "pipeline.quality.page": "write_page",
    "pipeline.quality.qualify": "Asked Measured Prices Qualification qualify",
    "pipeline.records.costs": "AllCosts Costs Held JobCosts MetFiles",
    "pipeline.records.drop": "Drop LeftFile RefusedFile",
    "pipeline.records.entries": "Tally entries_at meaning read_entries tally",
    "pipeline.records.journal": "ClockSeen Recorded look_at_clock open_journal record",
    "pipeline.records.private": "refuse_open",
    "pipeline.records.register": "Admissions Decision Register check_admitted model_news read_admissions refusal_of",
    "pipeline.records.settings": "Difference differences label read_settings settings_in_words",
    "pipeline.records.types": (
        "KINDS ConsoleInvited ConsoleRevoked Document Isolation JobBroken JobMended ModelAndHead NetworkRefused "
        "Notified ReadCheckpoint ReadProof ReadRecall ReadResults ReadStory ReadThere Record RefusedThere Reviewed "
        "RunFinished RunStarted Sampled ServiceEnded ServiceReloaded ServiceStarted SignedIn StartDecided "
        "StartedThere StartSet Verified"
    ),
    "pipeline.report": "COMPUTING READING Observer Rerunning RunReport joined",
    "pipeline.rerun": "RERUNNABLE Rechosen foresee_rerun",
    "pipeline.review.deciding": (
        "RefusedReview Review ReviewOutcome decide reviews_refused reviews_waiting take_up_reviews"
    ),
    "pipeline.review.examples": "REVIEW review_examples",
    "pipeline.review.sampling": "Standing draw new_seed samples standing",
    "pipeline.review.seen": "entry_of job_of row_of",
    "pipeline.review.sheets": "REVIEWABLE SHEETS BadSheetError Filled format_csv format_jsonl parse_sheet seen_digits",
    "pipeline.run": "run",
    "pipeline.stages.ahead": "Memory known_costs machines_of memory_of model_of waiting",
    "pipeline.states": "OF_RUNS State",
    "pipeline.tasks": (
        "FIGURES MEASURES NOT_BLANK TASKS AskSettings BatchSettings ClassifySettings ExtractSettings Field Key Label "
        "Line SettingsError SummarizeSettings Task Value Writing keys_of kind_of task_of"
    ),
    "pipeline.tasks.correcting": "ReviewRefusedError",
    "pipeline.tasks.examples": "ExamplesRefusedError",
    "pipeline.tasks.judging": "FieldScore Figure LabelScore",
    "pipeline.version": "FORMAT VERSION_FILE WorkspaceRefusedError check_version write_version",
    "pipeline.view.drawer": "Drawer",
    "pipeline.view.places": "Place",
    "pipeline.view.structure": "Block Marked blocks_of",
    "pipeline.view.unseen": "WAYS",
    "pipeline.view.viewed": "Drawn NotShownError Viewed draw_page open_document",
    "pipeline.view.windows": "window_at windows_of",
}

_HOMES = {name: home for home, names in _LATER.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pipeline' has no attribute {name!r}")
    # The attribute is set after the import, which names the module pipeline.run as the function in it is named.
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(_HOMES)
