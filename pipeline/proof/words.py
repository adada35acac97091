"""Records of the log in words, for people: the members of an entry as labels and text, never as JSON or Python.

Numbers of entries are told as ranges. Of a member that this version does not know, the name and the value are told the
same way, so that a record of a later version is readable too.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import audit

_OF_THE_LOG = frozenset(
    {"v", "n", "time", "boot", "uptime_us", "host", "user", "type", "run", "job", "handed", "private", "closed"}
)
_LABELS = {"job_digest": "settings", "job_file_sha256": "job file"}
_ERASURE = {
    "archive": "bytes and text erased",
    "entries": "cannot be opened again",
    "failed": "copies in failed/ erased",
    "markdown": "Markdown and output files erased",
    "rows": "parts written anew",
}
_DELETION = {"archive": "bytes and text deleted", "markdown": "Markdown files deleted", "parts": "parts deleted"}
_OF_TYPES = {
    "admission.granted": {"golden_sha256": "golden texts", "answers_sha256": "golden answers"},
    "erased": _ERASURE,
    "deleted": {"deletion": "what was announced by"},
    "deleted.by_rule": _DELETION,
    "exported": {"from": "days from", "before": "days before", "first": "from", "end": "to before"},
    "hold": {"entries": "held"},
    "job.changed": {"after": "now"},
    "job.rolled_back": {"after": "now"},
    "model.changed": {"after": "now"},
    "qualified": {
        "eval": "measured on",
        "eval_sha256": "file and documents",
        "examples_sha256": "texts",
        "metrics": "figures",
    },
    "released": {"hold": "the hold of"},
    "replayed": {"asked": "asked for", "different": "came out differently"},
}
"""Labels that hang on the type of the record."""
_OPEN_ENDS = {"0001-01-01T00:00:00.000000Z": "the beginning", "9999-12-31T00:00:00.000000Z": "the end"}
"""Times that exports give where no day was asked for."""
_ENTRIES = frozenset({"entries", "archive", "markdown", "failed", "different", "replaces"})
"""Members that are lists of numbers of entries."""
_ENTRY = frozenset({"deletion", "hold", "entry", "n", "part", "supersedes", "first", "end"})
"""Members that are the number of an entry."""


def members_in_words(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Tell what a record says beside when, where and by whom: a label and a text for each member that says
    something."""
    labels = _OF_TYPES.get(str(entry["type"]), {})
    for name, value in entry.items():
        if name not in _OF_THE_LOG and not _is_empty(value):
            yield labels.get(name, label_of(name)), value_in_words(name, value)


def label_of(member: str) -> str:
    """The name of a member as words."""
    return _LABELS.get(member, member.replace("_", " ").replace(".", " "))


def value_in_words(name: str, value: Any) -> str:
    """The value of the member `name`."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"entry {value}" if name in _ENTRY else f"{value:,}"
        case float():
            return f"{value:,.6g}"
        case str():
            told = _OPEN_ENDS.get(value, value)
            return f"not told (private): {value}" if audit.is_commitment(value) else told
        case Mapping():
            return _part(value) if "file" in value else _pairs(value)
        case Sequence():
            return _list(name, value)
    return str(value)


def _list(name: str, values: Sequence[Any]) -> str:
    if not values:
        return "none"
    if name in _ENTRIES and all(type(value) is int for value in values):
        return ("entry " if len(values) == 1 else "entries ") + _ranges(values)
    between = "; " if any(isinstance(value, Mapping) for value in values) else ", "
    return between.join(value_in_words("", value) for value in values)


def _pairs(value: Mapping[str, Any]) -> str:
    told = (f"{label_of(name)} {value_in_words(name, each)}" for name, each in value.items() if not _is_empty(each))
    return ", ".join(told) or "nothing"


def _part(value: Mapping[str, Any]) -> str:
    """A file with its sha256; of one that was written anew also what it is without."""
    gone = value.get("entries")
    without = f" without the rows of {value_in_words('entries', gone)}" if gone else ""
    digest = f" (sha256 {value['sha256']})" if "sha256" in value else ""
    return f"{value['file']}{without}{digest}"


def _is_empty(value: Any) -> bool:
    """A member that says nothing; that a count is 0 or an answer no says something."""
    return value is None or value in ("", [], {})


def _ranges(numbers: Sequence[int]) -> str:
    """`3 to 7, 9` of numbers in any order."""
    ordered = sorted(set(numbers))
    starts = [ordered[0], *(after for before, after in pairwise(ordered) if after - before > 1)]
    ends = [*(before for before, after in pairwise(ordered) if after - before > 1), ordered[-1]]
    return ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in zip(starts, ends, strict=True))
