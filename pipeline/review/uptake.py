"""Whoever holds the log takes up what people decided: what was left in state/review/, and what is decided just now.

A request counts if the key signed it that the log admitted last, if its row is still the one that holds, and if the
answer is one that the row can have. Any other is moved aside, to ID.refused, and the log says so once.
"""

import contextlib
import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

import audit
from pipeline.document import Row
from pipeline.outbox.commit import Staged, commit, stage, stage_markdown
from pipeline.outbox.schema import result_sha256, table_schema, to_text
from pipeline.plan import Site
from pipeline.records import requests
from pipeline.records.current import Last, answers_of, decide
from pipeline.records.drop import REFUSED, RefusedFile, kept_name
from pipeline.records.history import History
from pipeline.records.index import KNOWN
from pipeline.records.journal import Journal
from pipeline.records.private import refuse_open
from pipeline.records.requests import Request
from pipeline.records.types import Document, Part, Placed, ReviewerKeyAdmitted, ReviewRefused
from pipeline.review.seen import Seen, document_at, seen_of
from pipeline.tasks import name_of
from pipeline.tasks.correcting import ReviewRefusedError
from pipeline.text.visible import shown

_AT_ONCE = 256  # files; the others come after them
_TOLD = 400  # characters of a reason in the log
_PRIVATE = "it was refused; the job is private, so the reason stands only beside the file that is kept"


@dataclass(frozen=True)
class Decided:
    """A decision that holds: the request, the row that was seen, and the answer that takes its place."""

    request: Request
    seen: Seen
    row: Row


@dataclass(frozen=True)
class Refused:
    """A request that was refused: the name of its file, and why."""

    name: str
    why: str
    record: ReviewRefused


@dataclass
class Taken:
    """Holds what was taken up: id of a request -> the entry of its row; and what was refused, by the name of the
    file."""

    rows: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


@dataclass
class Uptake:
    """The decisions that this holder of the log takes up; everything before it is in place. `histories`: what is known
    of jobs, which nobody else changes while the log is held."""

    site: Site
    log: Journal
    histories: dict[str, History]
    _left: set[str] = field(default_factory=set)  # files that could not be removed or moved

    @property
    def key(self) -> str | None:
        """The public key whose signatures count."""
        return next(iter(self.histories.values())).review_key

    def admit_own_key(self) -> None:
        """Let the log admit keys/review.key, if it is a key and is not admitted yet. audit.AuditError, OSError."""
        try:
            public_key = audit.signing_key(requests.key_file(self.site))
        except audit.KeyRefused:  # what it signed is refused, one by one
            return
        if public_key == self.key:
            return
        self.log.commit([ReviewerKeyAdmitted(public_key=public_key)])
        for history in self.histories.values():
            history.review_key = public_key

    def take(self) -> Taken:
        """Take up everything that waits now; what comes meanwhile, the next one takes up, so that nobody works for
        others without end. audit.AuditError, OSError."""
        taken, due = Taken(), set(requests.waiting(self.site))
        if due:
            self.admit_own_key()
        while names := sorted((due & set(requests.waiting(self.site))) - self._left)[:_AT_ONCE]:
            self._take(names, taken)
        return taken

    def decide(self, request: Request) -> int:
        """Take up a decision that was signed just now; the entry of its row. ReviewRefusedError."""
        decided, taken = self._decided(request, set()), Taken()
        assert decided is not None  # it is alone
        self._commit([decided], [], taken)
        return taken.rows[request.id]

    def _take(self, names: Sequence[str], taken: Taken) -> None:
        refused, read = list[Refused](), list[tuple[Request, str, str]]()
        for name, owner, said in requests.drop_of(self.site).taken(names):
            if isinstance(said, RefusedFile):
                refused.append(_refused(name, owner, said.why, None))
            else:
                read.append((said, owner, name))
        decided, documents = list[Decided](), set[tuple[str, str | None]]()
        for request, owner, name in sorted(read, key=lambda each: (each[0].at, each[0].id)):
            try:
                made = self._decided(request, documents)
                if made is not None:
                    decided.append(made)
            except ReviewRefusedError as error:
                refused.append(_refused(name, owner, str(error), self._told(request)))
        self._commit(decided, refused, taken)

    def _told(self, request: Request) -> tuple[Request, bool] | None:
        """The request, if it was signed, and whether the log may say why it is refused."""
        if not requests.is_signed(self.key, request.job, request.reviewed()):
            return None
        try:
            return request, document_at(self.site, request.of).private is not None
        except LookupError:
            return request, False

    def _decided(self, request: Request, documents: set[tuple[str, str | None]]) -> Decided | None:
        """The decision; None for a second one on a document, whose turn comes when the first has its entry."""
        if not requests.is_signed(self.key, request.job, request.reviewed()):
            raise ReviewRefusedError("no key that the log admits signed it as it is")
        job = request.job
        if job not in self.histories:
            self.histories[job] = KNOWN.history(self.site, job)
        history = self.histories[job]
        decided = judged(self.site, history, request)
        document = request.job, decided.seen.entry.document
        if document in documents:
            return None
        documents.add(document)
        return decided

    def _commit(self, decided: Sequence[Decided], refused: Sequence[Refused], taken: Taken) -> None:
        groups = list(_groups(decided))
        first, parts = self.log.next_index, list[Placed]()
        if groups:
            staged = list(_staged(self.site, groups, first))
            commit(self.site, self.log, staged)
            parts = [Placed(job=each.part.job, file=each.part.file) for each in staged]
        for group in groups:
            for number, each in enumerate(group, first):
                taken.rows[each.request.id] = number
                history = self.histories[each.request.job]
                history.decided[each.request.id] = number
                decide(history.last, each.seen.entry, each.request.of, number)
            first += len(group) + 1
        requests.remove(self.site, [each.request.id for each in decided])
        if parts or refused:
            self.log.commit([*parts, *(each.record for each in refused)])
        for one in refused:
            taken.refused[one.name] = one.why
            drop = requests.drop_of(self.site)
            with contextlib.suppress(OSError):
                kept = drop.free_name(one.record.kept)
                why = drop.path / f"{kept.removesuffix(REFUSED)}{requests.WHY}"
                audit.write_file_atomically(why, one.why.encode(errors="backslashreplace"), mode=0o600)
                drop.rename(one.name, kept)
        self._left |= set(requests.waiting(self.site)) & {
            *(f"{each.request.id}.json" for each in decided), *(each.name for each in refused)
        }  # fmt: skip


def judged(site: Site, history: History, request: Request) -> Decided:
    """The decision, if it can be taken as things are. ReviewRefusedError; audit.AuditError."""
    if (done := history.decided.get(request.id)) is not None:
        raise ReviewRefusedError(f"it was taken up before, as entry {done:,} says")
    try:
        entry = document_at(site, request.of)
    except LookupError as error:
        raise ReviewRefusedError(str(error.args[0])) from error
    if entry.job != request.job or entry.result_sha256 != request.seen:
        raise ReviewRefusedError(f"entry {request.of:,} is not of the row that was seen")
    _check_current(site, history.last, entry)
    seen = seen_of(site, entry, history.settings)
    return Decided(request, seen, seen.decided(request.action, request.answer))


def _check_current(site: Site, last: Last, entry: Document) -> None:
    """ReviewRefusedError for a row of which another one has taken the place, with what did."""
    now = answers_of(last, entry)
    if entry.n in now:
        return
    by = "another row took its place"
    if now:
        with contextlib.suppress(LookupError):
            other = document_at(site, now[-1])
            who = f"{other.review.by} {other.review.action} it" if other.review else f"run {other.run} made it anew"
            by = f"{who}, as entry {now[-1]:,} says"
    raise ReviewRefusedError(f"the row of entry {entry.n:,} is no longer the one that holds: {by}")


def _groups(decided: Sequence[Decided]) -> Iterator[list[Decided]]:
    groups: defaultdict[tuple[str, bool], list[Decided]] = defaultdict(list)
    for each in decided:
        groups[each.request.job, each.seen.entry.private is not None].append(each)
    yield from groups.values()


def _staged(site: Site, groups: Sequence[Sequence[Decided]], first: int) -> Iterator[Staged]:
    """A part for each group of decisions, from entry `first` on, each part with an entry behind its rows. Nothing comes
    in and nothing goes: the part says that inputs are kept, and no document has a copy in staging."""
    for group in groups:
        job, private = group[0].request.job, group[0].seen.entry.private is not None
        if private:
            refuse_open(site.root)
        name = f"{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}-{secrets.token_hex(3)}"
        file = f"outbox/{job}/part-{name}-review.parquet"
        part = Part(job=job, file=file, sha256="", rows=len(group), first=first, folder="", afterwards="keep")
        rows = [_whole(each, number) for number, each in enumerate(group, first)]
        yield stage(site, part, rows, partial(_entries, site, group, file), private=private)
        first += len(group) + 1


def _whole(decided: Decided, number: int) -> Row:
    """The row with the columns of the decision; nothing was computed for it."""
    request = decided.request
    review = {"action": request.action, "by": request.by, "reason": request.reason, "of": request.of}
    return Row({**dict.fromkeys(table_schema().names), **decided.row}).having(
        job=request.job, task=name_of(decided.seen.task), run="", audit_index=number, review=review,
        replaces=[request.of], supersedes=request.of, duplicate_of=None, failure=None,
        tokens=0, seconds=0.0, finished_at=datetime.now(UTC),
    )  # fmt: skip


def _entries(site: Site, group: Sequence[Decided], part: str, rows: list[Row]) -> list[Document]:
    return [_entry(site, each, part, at, row) for at, (each, row) in enumerate(zip(group, rows, strict=True))]


def _entry(site: Site, decided: Decided, part: str, number: int, row: Row) -> Document:
    """The entry of row `number` of a part: everything that made the row which was seen, the decision, and the Markdown
    file anew, if there was one."""
    before = decided.seen.entry
    markdown = stage_markdown(site, before.job, before.markdown.file, row) if before.markdown else None
    return replace(
        before, said={}, run="", part=part, row=number, state=row.state, failure=None, reason=None,
        duplicate_of=None, supersedes=row.supersedes, replaces=tuple(row.replaces or ()), tokens=0,
        finished_at=to_text(row.finished_at), result_sha256=result_sha256(row), markdown=markdown, outputs=None,
        unread=None, review=decided.request.reviewed(),
    )  # fmt: skip


def _refused(name: str, owner: str, why: str, told: tuple[Request, bool] | None) -> Refused:
    request, private = told if told else (None, False)
    reason = _PRIVATE if private else shown(why)[:_TOLD]
    of, by = (request.of, request.by) if request else (None, None)
    return Refused(
        name, why, ReviewRefused(file=shown(name), owner=owner, reason=reason, kept=kept_name(name), of=of, by=by)
    )
