"""The report of an export is gathered record by record: counts of all, and lists that have an end."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import audit
from pipeline.pages.text import brief
from pipeline.proof.words import members_in_words, value_in_words
from pipeline.records.entries import meaning, without_authority
from pipeline.text.visible import visible

LISTED = 5_000
"""More runs, documents or events than so many are counted, not listed; records.jsonl has them."""
_FACTS = 1_000  # characters of one member
_COUNTS = ("done", "abstained", "review", "failed", "duplicate", "ignored", "pending")
_EARLY = ("interrupted", "window_closed")
_OF_DOCUMENT = ("path", "document", "reason")
_PARTS_OF_OTHERS = {"part", "placed", "settings"}  # counted, not listed
_LEFT_OUT = {"reported": {"shares", "rows", "first", "markdown", "job_digest"}}  # the page itself says it better
DECIDED = "decided."
"""What the kind of a deed begins with that is the decision of a person on a row."""
_PERSON = "by"
"""The member of a record that names the person who decided it."""

Entry = Mapping[str, Any]


@dataclass
class Listed:
    """The first LISTED of something, and how many there are of it."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    total: int = 0

    def add(self, row: dict[str, Any]) -> None:
        """Add one row to the list."""
        self.total += 1
        if len(self.rows) < LISTED:
            self.rows.append(row)

    @property
    def left(self) -> int:
        """How many are not listed."""
        return self.total - len(self.rows)


@dataclass
class Deeds:
    """How often somebody did something, and when first and last."""

    first: str
    last: str = ""
    count: int = 0

    def add(self, time: str) -> None:
        """Count it once more."""
        self.last, self.count = time, self.count + 1


@dataclass
class Summary:
    """The summary of all records that were added. A record of a type that is not known here is an event."""

    types: Counter[str] = field(default_factory=Counter)
    days: Counter[str] = field(default_factory=Counter)
    states: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    models: Counter[tuple[str, str]] = field(default_factory=Counter)
    people: dict[tuple[str, str, str], Deeds] = field(default_factory=dict)
    private: int = 0  # documents whose names and answers are not told
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    documents: Listed = field(default_factory=Listed)
    events: Listed = field(default_factory=Listed)

    def add(self, entry: Entry) -> None:
        """One record, in the order of the log."""
        entry = without_authority(entry)
        kind = entry["type"]
        self.types[visible(kind)] += 1
        who = visible(entry["user"]), visible(entry["host"]), visible("" if kind in _PARTS_OF_OTHERS else kind)
        self.people.setdefault(who, Deeds(entry["time"])).add(entry["time"])
        if kind == "document" and not entry["run"]:
            self._decided(entry)
        elif kind == "document":
            self._document(entry)
        elif kind in ("run.started", "run.finished"):
            self._run(entry)
        elif kind not in _PARTS_OF_OTHERS:
            said = {name: value for name, value in entry.items() if name not in _LEFT_OUT.get(kind, ())}
            told = {
                "type": visible(kind),
                "says": type_in_words(kind),
                "facts": _facts(said),
                "by": ("" if str(entry["type"]).startswith("model.") else _text(entry, _PERSON)),
            }
            self.events.add(_brief(entry) | told)

    def _decided(self, entry: Entry) -> None:
        """Take in a row that a person decided: no document came in, and the person is the one whom the entry names."""
        told = _decision(entry)
        self.events.add(_brief(entry) | told)
        if told["by"]:
            who = told["by"], "", f"{DECIDED}{told['action']}"
            self.people.setdefault(who, Deeds(entry["time"])).add(entry["time"])

    def _document(self, entry: Entry) -> None:
        state, job = _text(entry, "state"), _text(entry, "job")
        self.states[job, state] += 1
        self.days[_text(entry, "time")[:10]] += 1
        self.private += "private" in entry
        if entry.get("failure") and not audit.is_commitment(entry["failure"]):
            self.failures[_text(entry, "failure")] += 1
        if entry.get("model_sha256"):
            self.models[_text(entry, "model"), _text(entry, "model_sha256")] += 1
        told = {name: "" if audit.is_commitment(entry.get(name)) else _text(entry, name) for name in _OF_DOCUMENT}
        path = told["path"] or "not told: the job is private"
        proved = {name: entry.get(name) for name in ("part", "result_sha256")}
        self.documents.add(_brief(entry) | {"state": state, "job": job} | told | {"path": path, "proved": proved})

    def _run(self, entry: Entry) -> None:
        run = self.runs.setdefault(entry["run"], {"run": visible(entry["run"]), "job": _text(entry, "job")})
        if entry["type"] == "run.started":
            run |= {"started": entry["time"], "by": f"{_text(entry, 'user')} on {_text(entry, 'host')}"}
            run["isolation"] = _isolation(entry.get("isolation"))
        else:
            run |= {"ended": entry["time"], "seen": entry.get("seen")}
            run |= {name: entry.get(name) for name in _COUNTS} | {name: entry.get(name) for name in _EARLY}


def _isolation(said: Any) -> str:
    """The sentence on how the parsers of a run were held, where that may be less than all; of any value."""
    if not isinstance(said, dict) or said.get("wanted") == "required":
        return ""
    return f"isolation of the parsers {_text(said, 'wanted')}; not in force: {_text(said, 'lacking') or 'none'}"


def _brief(entry: Entry) -> dict[str, Any]:
    return {"n": entry["n"], "time": entry["time"], "user": visible(entry["user"]), "run": visible(entry["run"])}


def type_in_words(kind: str) -> str:
    """The meaning of records of a type, for people."""
    return (meaning(kind) or "a type that this version does not know").replace("`", "")


def _decision(entry: Entry) -> dict[str, Any]:
    """A row that a person decided, as an event: nothing came in, so it is no document among those that did."""
    review = entry.get("review")
    said = review if isinstance(review, Mapping) else {}
    told = {name: entry.get(name) for name in ("job", "path", "state")} | {
        "decision": said.get("action"), "why": said.get("reason"), "decided at": said.get("at"),
        "row that was seen": f"entry {entry.get('supersedes')}",
    }  # fmt: skip
    facts = [(label, _cut(_text(told, label))) for label in told if told[label] is not None]
    says_so = "a person decided on a row; what was decided took its place"
    by, action = _text(said, "by"), _text(said, "action")
    return {"type": "document", "says": says_so, "facts": facts, "by": by, "action": action}


def _text(entry: Entry, name: str) -> str:
    """A member for people: empty where there is none."""
    value = entry.get(name)
    return "" if value is None else visible(value_in_words(name, value))


def _facts(entry: Entry) -> list[tuple[str, str]]:
    """The members of a record as labels and text."""
    job = [("job", _text(entry, "job"))] if entry.get("job") else []
    return [*job, *((visible(label), _cut(brief(visible(text)))) for label, text in members_in_words(entry))]


def _cut(text: str) -> str:
    return text if len(text) <= _FACTS else f"{text[:_FACTS]} … ({len(text):,} characters)"
