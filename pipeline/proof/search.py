"""Looking things up in the log: which documents, by what is known of them; and what one model touched."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipeline.outbox.deletion import Deletions
from pipeline.paths.names import matcher
from pipeline.plan import Site
from pipeline.records.current import Replaced, answers_copies
from pipeline.records.entries import read_entries
from pipeline.records.register import Admissions, Decision
from pipeline.records.types import Document, Inputs, ReadSearch, Record, RunStarted

_COLUMNS = (
    "time", "run", "job", "path", "document", "state", "failure", "reason", "model", "model_sha256", "part", "row",
)  # fmt: skip


@dataclass(frozen=True)
class Query:
    """The facts that an entry must tell; None asks for nothing.

    `document`, `model`: a sha256 or its first digits; `model` may also be a name. `name`: a pattern of the path, or a
    part of it, without regard to case. `outcome`: a state, or a class of failure. `since` <= time < `until`, as the log
    writes times.
    """

    document: str | None = None
    name: str | None = None
    job: str | None = None
    model: str | None = None
    outcome: str | None = None
    since: str | None = None
    until: str | None = None
    run: str | None = None

    def asked(self) -> dict[str, str]:
        """The query as words and texts."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass
class Searched:
    """The rows that were found, oldest first. `private`: some entries of the log are of private jobs, found or not."""

    query: Query
    rows: list[dict[str, Any]] = field(default_factory=list)
    private: bool = False

    def to_record(self) -> ReadSearch:
        """The record of the search for the log: where jobs are private, it gets nobody's name from here either."""
        asked = self.query.asked()
        if self.private:
            asked = {key: "private" if key in ("name", "document") else value for key, value in asked.items()}
        return ReadSearch(query=asked)


def search(site: Site, query: Query) -> Searched:
    """Search what the log tells of inputs: entries of documents, and paths that got no row. audit.AuditError."""
    tests, found = list(_tests(query)), Searched(query)
    for entry in read_entries(site):
        found.private |= entry.private is not None
        if isinstance(entry, Document | Inputs):
            found.rows += (row for row in _rows(entry) if all(test(row) for test in tests))
    return found


def jobs_and_runs(site: Site) -> tuple[list[str], list[str]]:
    """The names of all jobs and runs of which the log tells, in its order. audit.AuditError."""
    jobs, runs = dict[str, None](), dict[str, None]()
    for entry in read_entries(site):
        if entry.run:
            runs[entry.run] = None
        if entry.job:
            jobs[entry.job] = None
    return list(jobs), list(runs)


@dataclass
class Touched:
    """A result that a model made, by what its entry says; `superseded_by`: the entry whose row took its place;
    `deleted_by`: the one by which its row was deleted, by rule or on request."""

    facts: dict[str, Any]
    superseded_by: int | None = None
    deleted_by: int | None = None

    @property
    def holds(self) -> bool:
        """Whether it still is a result."""
        return self.superseded_by is None and self.deleted_by is None


@dataclass
class Recall:
    """All results of one model: entry -> what it says. `model_sha256` in full; `decision`: whether it was admitted or
    revoked, if a person decided that."""

    model_sha256: str
    results: dict[int, Touched] = field(default_factory=dict)
    decision: Decision | None = None


def recall(site: Site, model: str) -> Recall:
    """Find what the model of this sha256 (six digits or more) touched. LookupError, audit.AuditError."""
    found: dict[int, Touched] = {}
    deletions, rows, admissions = Deletions(), _Rows(), Admissions()
    for entry in read_entries(site):
        deletions.take(entry)
        rows.take(entry)
        admissions.take(entry)
        if isinstance(entry, Document) and len(model) >= 6 and entry.model_sha256.startswith(model.lower()):
            found[entry.n] = Touched(next(_rows(entry)))
    for number, each in found.items():
        each.superseded_by = rows.replaced[each.facts["job"]].by.get(number)
        each.deleted_by = deletions.by(number, each.facts["part"])
    models = sorted({each.facts["model_sha256"] for each in found.values()})
    if len(models) != 1:
        known = f"names {len(models)} models; give more of it: {', '.join(models[:5])}" if models else "made no result"
        raise LookupError(f"the sha256 {model!r} {known}")
    return Recall(models[0], found, admissions.last.get(models[0]))


@dataclass
class _Rows:
    """The rows of each job of which another one took the place, by the rule of current.py."""

    replaced: defaultdict[str, Replaced] = field(default_factory=lambda: defaultdict(Replaced))
    _copies: dict[str, bool] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry. One of a document from before entries said what they replace, and that nothing opens,
        says a part of it."""
        if isinstance(entry, RunStarted):
            self._copies[entry.job] = answers_copies(entry.duplicates)
        elif isinstance(entry, Document):
            said = entry.replaces
            if entry.closed and said is None:
                said = () if entry.supersedes is None else (entry.supersedes,)
            self.replaced[entry.job].add(entry, entry.n, said, self._copies.get(entry.job, False))


def _rows(entry: Document | Inputs) -> Iterator[dict[str, Any]]:
    for path in (entry.paths or ()) if isinstance(entry, Inputs) else (entry.path,):
        row = {"entry": entry.n, **{name: entry.said.get(name) for name in _COLUMNS}, "path": path}
        review = entry.review if isinstance(entry, Document) else None
        decided = {"decided_by": review.by, "decision": review.action, "reason": review.reason} if review else {}
        yield row | decided


def _tests(query: Query) -> Iterator[Callable[[Mapping[str, Any]], bool]]:
    """One for each thing that is asked for."""
    asked = query.asked()
    if text := asked.get("name"):
        matches = matcher([text if set(text) & set("*?[") else f"*{text}*"])
        yield lambda row: matches(row["path"].lower())
    for name in ("job", "run"):
        if name in asked:
            yield lambda row, name=name: row[name] == asked[name]  # type: ignore[misc]
    if document := asked.get("document"):
        yield lambda row: (row["document"] or "").startswith(document.lower())
    if model := asked.get("model"):
        yield lambda row: row["model"] == model or (row["model_sha256"] or "").startswith(model.lower())
    if outcome := asked.get("outcome"):
        yield lambda row: outcome in (row["state"], row["failure"])
    if since := asked.get("since"):
        yield lambda row: row["time"] >= since
    if until := asked.get("until"):
        yield lambda row: row["time"] < until
