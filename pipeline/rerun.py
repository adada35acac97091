"""Archived documents are answered again: which of them, why, and which are left, by the index of rows and the log.

A rerun that was cut off goes on when the same is asked for again: it takes the rows that fitted when it first began,
unless others took their places since. So nothing is answered twice, and a sample stays the same sample.
"""

import errno
import hashlib
import hmac
import sqlite3
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import audit
from pipeline.answer.heads import with_head
from pipeline.answer.models import check_model, writing_of
from pipeline.atrest.files import AtRest
from pipeline.inbox.discover import Scan
from pipeline.inbox.find import Found
from pipeline.inbox.intake import ALTERED, GONE, Archived
from pipeline.index.index import open_index
from pipeline.index.values import Filter
from pipeline.keep.holds import Holds, held_documents
from pipeline.outbox.deletion import Deletions
from pipeline.outbox.placement import archive_folder
from pipeline.plan import Rerun, RunPlan, Site
from pipeline.records.entries import fold, read_entries
from pipeline.records.history import History
from pipeline.records.index import history_of
from pipeline.records.register import check_admitted
from pipeline.records.settings import job_digest
from pipeline.records.types import Document, Held, Record, RerunAsked, RunStarted
from pipeline.report import WHY, Observer, Rerunning
from pipeline.review.sampling import drawn, new_seed
from pipeline.states import ANSWERED, State
from pipeline.text.visible import shown

RERUNNABLE = (*ANSWERED, State.REJECTED)
"""The states of rows whose documents lie in the archive. What failed lies in failed/, and a copy has no answer of its
own."""


@dataclass(frozen=True)
class Rechosen:
    """The documents of a job that a rerun takes, in the order of their rows, and (path, reason) of those that it
    leaves."""

    job: str
    sources: tuple[Archived, ...]
    left: tuple[tuple[str, str], ...]
    asked: RerunAsked
    told: Rerunning

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the documents, as people read them."""
        return tuple(shown(source.path) for source in self.sources)


def choose(plan: RunPlan, digest: str, model_sha256: str, last: RunStarted | None) -> Rechosen:
    """Choose for today's settings, which have this digest; `last`: the job's last rerun, if it did not come to its end.
    audit.AuditError; OSError where the index cannot be written."""
    assert plan.rerun is not None
    question = _question(plan.site, plan.rerun)
    before = last.rerun if last and last.job_digest == digest and last.rerun else None
    before = before if before and before.question == question else None
    try:
        rows = _rows(plan, plan.rerun, digest, before)
    except sqlite3.Error as error:
        raise OSError(errno.EIO, f"{error}; delete it, it is made again", "state/index.sqlite") from error
    asked = _asked(plan, plan.rerun, question, rows, before)
    wanted = rows.fit - rows.same
    if asked.sample is not None:
        wanted = set(drawn(wanted - rows.decided, asked.seed or "", asked.sample))
    surveyed = _survey(plan.site, wanted & rows.current)
    taken, left, why = list[Archived](), list[tuple[str, str]](), Counter[str]()
    for entry in surveyed.found:
        if reason := surveyed.why_left(plan.site, entry, entry.n in rows.decided):
            left.append((f"entry {entry.n}" if entry.closed else entry.path, reason))
            continue
        taken.append(Archived(entry.raw_path, entry.size, str(entry.document), entry.parent, entry.n))
        why["model" if entry.model_sha256 != model_sha256 else WHY[2 * (entry.job_digest == digest)]] += 1
    told = Rerunning({each: why[each] for each in WHY if why[each]}, len(rows.same), before is not None)
    return Rechosen(plan.job, tuple(taken), tuple(left), asked, told)


@dataclass(frozen=True)
class _Rows:
    """Entries of rows: those that `fit` what was asked, of these those made by the `same` settings as today's, and
    those that a person `decided`, all as it was when the log had `size` entries; and those that are `current` now."""

    size: int
    fit: set[int]
    same: set[int]
    decided: set[int]
    current: set[int]


def _rows(plan: RunPlan, rerun: Rerun, digest: str, before: RerunAsked | None) -> _Rows:
    """sqlite3.Error, audit.AuditError."""
    asked = Filter(
        jobs=(plan.job,), states=rerun.states or tuple(map(str, RERUNNABLE)), labels=rerun.labels,
        folder=rerun.folder, night=rerun.night, text=rerun.text,
    )  # fmt: skip
    with open_index(plan.site) as index:
        index.refresh()
        size = before.size if before else None
        fit = set(index.entries(asked, size))
        same = set() if rerun.everything else set(index.entries(replace(asked, digests=(digest,)), size))
        decided = set() if rerun.decided else set(index.entries(replace(asked, review="any"), size))
        current = set(index.entries(Filter(jobs=(plan.job,)))) if before else fit
        return _Rows(before.size if before else index.size, fit, same, decided, current)


def _question(site: Site, rerun: Rerun) -> str:
    """An HMAC of all that was asked: the log says it of private jobs too, and nobody else can try guesses on it."""
    secret = audit.derive_secret(site.key_file, site.public_key, "pipeline/rerun", site.passphrase_file)
    asked = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(rerun).items()}
    return hmac.digest(secret, audit.canonical(asked), hashlib.sha256).hex()


def _asked(plan: RunPlan, rerun: Rerun, question: str, rows: _Rows, before: RerunAsked | None) -> RerunAsked:
    if before:
        return before
    query: Mapping[str, object] = {
        "labels": list(rerun.labels), "folder": rerun.folder, "night": rerun.night, "text": rerun.text
    }  # fmt: skip
    return RerunAsked(
        size=rows.size,
        question=question,
        everything=rerun.everything,
        decided=rerun.decided,
        states=rerun.states,
        sample=rerun.sample,
        seed=(rerun.seed or new_seed(plan.site)) if rerun.sample is not None else None,
        query=None if plan.private else query,
    )


@dataclass
class _Survey:
    """The entries of rows that are wanted, ascending, and what else the log says about their documents."""

    wanted: Collection[int]
    found: list[Document] = field(default_factory=list)
    holds: Holds = field(default_factory=Holds)
    deletions: Deletions = field(default_factory=Deletions)
    held: dict[str, Held] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        if isinstance(entry, Document):
            if entry.n in self.wanted:
                self.found.append(entry)
        else:
            self.holds.take(entry)
            self.deletions.take(entry)

    def why_left(self, site: Site, entry: Document, decided: bool) -> str | None:
        """Why a document is not answered again; None if it is."""
        if entry.closed:
            return "nothing opens its entry: private/ is not whole"
        if entry.review and decided:
            return f"{entry.review.by} {entry.review.action} it; --decided answers it again, too"
        if hold := self.held.get(str(entry.document)):
            return f"entry {hold.n} holds it: {hold.reason}"
        sizes = list(_sizes(site.at_rest, archive_folder(site.root, entry.job, str(entry.document)) / "bytes"))
        if entry.size in sizes:
            return None
        of = entry.review.of if entry.review else entry.n
        if not sizes and (by := self.deletions.archive.get(of)) is not None:
            return f"its bytes were deleted, as entry {by} says"
        return ALTERED if sizes else GONE


def _survey(site: Site, wanted: Collection[int]) -> _Survey:
    survey = fold(read_entries(site) if wanted else (), _Survey(wanted))
    for hold in survey.holds.entries.values():
        survey.held |= dict.fromkeys(held_documents(site, [hold.entries]), hold)
    return survey


def _sizes(at_rest: AtRest, folder: Path) -> Iterator[int]:
    """The sizes of the files in a folder; of none where there is no such folder. OSError where it cannot be read."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if stat.S_ISREG(path.lstat().st_mode):
            yield at_rest.size(path)


def find_archived(plan: RunPlan, history: History, digest: str, model_sha256: str, observer: Observer) -> Found:
    """The archived documents that the plan asks for. What is left is among the ignored of the scan, with the reason.
    audit.AuditError, OSError."""
    choice = choose(plan, digest, model_sha256, history.rerun)
    if choice.told.continued:
        observer.note("goes on with the rerun that was cut off")
    return Found(Scan((), (), (), choice.left), choice.sources, choice.asked, choice.told)


def foresee_rerun(plan: RunPlan) -> Rechosen:
    """What a rerun would take now. Nothing is answered or recorded, and the log need not be held. Raises what the run
    would raise for its model; audit.AuditError, OSError."""
    model_sha256 = check_model(plan)
    plan = replace(with_head(plan, model_sha256), writing=writing_of(plan))
    size = audit.read_checkpoint(plan.site.audit, plan.site.public_key).size
    history = history_of(plan.site, size, plan.job)
    check_admitted(plan.site, replace(plan.model, sha256=model_sha256), history.register.admissions)
    return choose(plan, job_digest(plan, model_sha256), model_sha256, history.rerun)
