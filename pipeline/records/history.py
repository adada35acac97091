"""The history of a job as the log knows it: documents done before, their rows, and parts that may not be in place
yet."""

from collections import Counter
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field

from pipeline.records.costs import JobCosts
from pipeline.records.current import Identity, answers_copies, decide, replaced
from pipeline.records.entries import fold
from pipeline.records.nights import night_of_run
from pipeline.records.register import Dispositions, Register, Unread, remember
from pipeline.records.settings import KeptSettings
from pipeline.records.types import (
    Deleted,
    DeletedByRule,
    Deletion,
    Document,
    Erased,
    Inputs,
    Part,
    Placed,
    Qualified,
    Record,
    Reported,
    Reviewed,
    ReviewerKeyAdmitted,
    RunEmpty,
    RunFinished,
    RunStarted,
    RunStopped,
    SettingsPiece,
)
from pipeline.states import ANSWERED, State

_NIGHTS = 40
"""Nights whose reports are known: later nights are compared with those of them that had the same settings."""


_RUNS = 30
"""Runs of which it is known how long they took."""


@dataclass(frozen=True, slots=True)
class Held:
    """A document in a container: its size (0 if it could not be had), and what it unpacked to, in all."""

    size: int
    documents: int
    bytes: int


@dataclass
class History:
    """The log, read once from its first entry, as the job `job` with the settings `job_digest` sees it.

    `done`: document -> its path, when it has an answer for these settings. `paths`: (path, document) of every file
    that these settings have met, also failed ones -> its last row. `inner`: container -> (path, document) of those in
    it -> what they hold, of containers that have no answer yet: a run was cut off, or they failed.
    `last`: the entries of this job whose rows are current (current.py). `copies`: its last run answered copies too.
    `failed`: (document, path) -> what is known of
    those whose last row, whatever the settings, is a failure.
    `unread`: path -> how a file lay there that was not read, and its failure (inbox/find.py), whatever the settings.
    `has_settings`: whether the log has these settings themselves, beside their digest.
    `cut_off`: states that the last run (of any job) had committed, if it has no closing entry.
    `unplaced`: part entries (of every job) not yet said to be in place, each with its document entries.
    `openings`: (job, number) of the files that open hidden entries. `closed`: hidden entries that nothing opens and
    nobody erased: to this history they are not there.
    `answered`: part -> the documents that are `done` by a row of it. `deletions`: those not yet said to be done.
    `register`, `dispositions`: what is known of keys, jobs and models, and of this job's inputs that have no row.
    `empty`: the entry of this job's last run, if that had nothing to do.
    `qualified`: digest of an evaluation file -> what was last measured on it of this job with these settings.
    `settings`: those of this job's rows, by their digest. `decided`: id of a request -> the entry of the row that it
    made in this job. `corrected`: document -> the last part in which a person decided a row of it with these settings.
    `review_key`: the key that signs such requests now; None while there is none.
    `reports`: night -> the last report of this job, of the last nights; `unreported`: night -> the parts of this job of
    which none tells. `unmoved`: reports (of every job) that may not be in place.
    `took`: tokens of the last runs of this job with these settings, and the seconds of all machines; `ours`: its last
    run had them.
    `rerun`: how the last rerun of this job began, whatever its settings, if it did not come to its end.
    `costs`: what documents of this job took, whatever the settings.
    """

    done: MutableMapping[str, str] = field(default_factory=dict)
    paths: MutableMapping[tuple[str, str | None], int] = field(default_factory=dict)
    inner: dict[str, dict[tuple[str, str | None], Held]] = field(default_factory=dict)
    last: MutableMapping[Identity, int] = field(default_factory=dict)
    failed: MutableMapping[tuple[str, str], "FailedBefore"] = field(default_factory=dict)
    unread: MutableMapping[str, Unread] = field(default_factory=dict)
    unplaced: dict[str, tuple[Part, list[Document]]] = field(default_factory=dict)
    has_settings: bool = False
    openings: set[tuple[str, int]] = field(default_factory=set)
    closed: set[int] = field(default_factory=set)
    answered: MutableMapping[str, list[str]] = field(default_factory=dict)
    deletions: dict[int, Deletion] = field(default_factory=dict)
    cut_off: Counter[str] | None = None
    copies: bool = False
    register: Register = field(default_factory=Register)
    dispositions: Dispositions = field(default_factory=Dispositions)
    empty: RunEmpty | None = None
    qualified: dict[str, Qualified] = field(default_factory=dict)
    settings: KeptSettings = field(default_factory=KeptSettings)
    decided: MutableMapping[str, int] = field(default_factory=dict)
    corrected: MutableMapping[str, str] = field(default_factory=dict)
    review_key: str | None = None
    reports: dict[str, Reported] = field(default_factory=dict)
    unreported: dict[str, list[Part]] = field(default_factory=dict)
    unmoved: list[Reported] = field(default_factory=list)
    took: list[tuple[int, float]] = field(default_factory=list)
    ours: bool = False
    rerun: RunStarted | None = None
    costs: JobCosts = field(default_factory=JobCosts)
    job: str = ""
    job_digest: str = ""
    _rows: list[Document] = field(default_factory=list)  # of which no part has come yet

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        closed = self._keep_opening(entry)
        if entry.job == self.job:
            self.costs.take(entry)
        match entry:
            case Document():
                self._take_document(entry, closed)
            case Part():
                self.unplaced[entry.file] = (entry, self._rows)
                self._rows = []
                self._take_part(entry)
            case Reported():
                self._take_report(entry, closed)
            case Placed():
                self.unplaced.pop(entry.file, None)
            case RunStarted():
                self._take_start(entry)
            case RunEmpty() if entry.job == self.job:
                self.empty = entry
            case RunFinished():
                self.cut_off = None
                self._take_end(entry)
            case RunStopped():
                self.cut_off = None
            case SettingsPiece():
                self.has_settings |= entry.job_digest == self.job_digest
                if entry.job == self.job:
                    self.settings.take(entry)
            case ReviewerKeyAdmitted():
                self.review_key = entry.public_key
            case Inputs() if entry.job == self.job and not closed:
                self.dispositions.take(entry)
            case Deleted():
                self.deletions.pop(entry.deletion, None)
            case DeletedByRule() | Erased():
                self._take_deletion(entry)
            case Qualified() if (entry.of_job, entry.job_digest) == (self.job, self.job_digest):
                self.qualified[entry.eval_sha256] = entry
            case _:
                self.register.take(entry)

    def _keep_opening(self, entry: Record) -> bool:
        """Note what opens a hidden entry; whether nothing does."""
        if entry.private is not None:
            self.openings.add((entry.job, entry.private))
        if entry.closed:
            self.closed.add(entry.n)
            return True
        return False

    def _take_start(self, entry: RunStarted) -> None:
        self.cut_off, self.unmoved = Counter(), []  # whatever starts a run has put in place what waited
        self.register.take(entry)
        if entry.job == self.job:
            self.empty, self.copies = None, answers_copies(entry.duplicates)
            self.ours = entry.job_digest == self.job_digest
            if entry.rerun is not None:
                self.rerun = entry
            if not self.reports:  # a log of a version that made none
                self.unreported = {}

    def _take_end(self, entry: RunFinished) -> None:
        if entry.job == self.job and self.ours and entry.tokens:
            worked = entry.seconds - (entry.ready_seconds or 0.0)
            self.took = [*self.took, (entry.tokens, worked * self.costs.hands)][-_RUNS:]
        if self.rerun and self.rerun.run == entry.run and entry.how == "finished":
            self.rerun = None

    def _take_part(self, entry: Part) -> None:
        if entry.job == self.job and (night := night_of_run(entry.run)):
            self.unreported.setdefault(night.isoformat(), []).append(entry)

    def _take_report(self, entry: Reported, closed: bool) -> None:
        self.unmoved.append(entry)
        if entry.job == self.job:
            self.unreported.pop(entry.night, None)
            if not closed:
                self.reports.pop(entry.night, None)
                self.reports[entry.night] = entry
            for night in sorted(self.reports)[:-_NIGHTS]:
                del self.reports[night]

    def _take_deletion(self, entry: Deletion) -> None:
        self.deletions[entry.n] = entry
        self.forget(entry.parts)
        if isinstance(entry, Erased):
            self.erase(set(entry.entries), set(entry.failed))

    def _take_document(self, entry: Document, closed: bool) -> None:
        self._rows.append(entry)
        if self.cut_off is not None and not entry.is_decided:
            self.cut_off[entry.state] += 1
        if entry.job != self.job or closed:
            return
        if entry.review is not None:
            self._take_decision(entry, entry.review)
            return
        replaced(self.last, entry, entry.n, self.copies, entry.grown_from)
        self.dispositions.forget(entry.path)
        mine = entry.job_digest == self.job_digest
        if mine:
            self._take_inner(entry)
        remember(self.unread, entry)
        if entry.document is not None:
            self._take_read(entry, entry.document, mine)

    def _take_decision(self, entry: Document, review: Reviewed) -> None:
        """Take in a person's decision: nothing came in, so it says nothing about inputs; and the document stays known
        as long as its row is there."""
        decide(self.last, entry, review.of, entry.n)
        self.decided[review.id] = entry.n
        document = entry.document or ""
        if entry.job_digest == self.job_digest and document in self.done:
            self.corrected[document] = entry.part
            self.answered.setdefault(entry.part, []).append(document)

    def _take_read(self, entry: Document, document: str, mine: bool) -> None:
        """Take in the entry of a document that was read; `mine`: with these settings."""
        path = entry.path
        if (before := entry.grown_from) is not None:
            self.failed.pop((before, path), None)
            if self.done.get(before) == path:
                del self.done[before]
        if entry.state == State.FAILED:
            failure = entry.failure or ""
            self.failed[document, path] = FailedBefore(entry.raw_path, entry.size, entry.parent, failure, entry.n)
            if self.done.get(document) == path:
                del self.done[document]
        else:
            self.failed.pop((document, path), None)
        if mine and entry.state in ANSWERED and document not in self.done:
            self.done[document] = path
            self.answered.setdefault(entry.part, []).append(document)
        if mine and not entry.parent:
            self.paths[path, document] = entry.n

    def _take_inner(self, entry: Document) -> None:
        """An answered container is over: what was in it is met again only with a container that comes again."""
        document, parent = entry.document, entry.parent
        brought = self.inner.get(document or "", {}) if entry.state != State.DUPLICATE else {}
        if parent:
            documents = sum(1 + held.documents for held in brought.values())
            unpacked = sum(held.size + held.bytes for held in brought.values())
            held = Held(entry.size if document else 0, documents, unpacked)
            self.inner.setdefault(parent, {})[entry.path, document] = held
        if entry.state in ANSWERED:
            self.inner.pop(document or "", None)

    def forget(self, parts: Iterable[str]) -> None:
        """The rows of these parts are deleted: the documents that they answered are new when they come again."""
        for part in parts:
            for document in self.answered.pop(part, ()):
                if self.corrected.get(document, part) == part:
                    self.done.pop(document, None)
                    self.corrected.pop(document, None)

    def erase(self, entries: set[int], failed: set[int]) -> None:
        """Nobody can open these entries any more; copies in failed/ of some are gone."""
        self.closed -= entries
        for key in [key for key, before in self.failed.items() if before.number in failed]:
            del self.failed[key]


@dataclass(frozen=True, slots=True)
class FailedBefore:
    """A document that failed: where from (as the system knows it), how large, of which container, and why."""

    raw: str
    size: int
    parent: str | None
    failure: str
    number: int


def read_history(entries: Iterable[Record], job: str, job_digest: str) -> History:
    """One pass over all entries; memory grows with the documents of this job only."""
    return fold(entries, History(job=job, job_digest=job_digest))
