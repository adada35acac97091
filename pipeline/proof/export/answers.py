"""Answers of the documents that a report lists: read from the parts, and held against what the log proves of each."""

import contextlib
from collections import Counter, defaultdict
from enum import StrEnum
from typing import Any, Final

import audit
from pipeline.errors import BadPartError
from pipeline.outbox.results import rows_numbered
from pipeline.outbox.schema import result_sha256
from pipeline.plan import Site
from pipeline.reports.rows import answer_of
from pipeline.states import ANSWERED

_ANSWER: Final = 400  # characters


class Fate(StrEnum):
    """Holds what became of the answer of a document that is listed."""

    SHOWN = "shown"
    GONE = "gone"
    OTHER = "other"


def add_answers(site: Site, documents: list[dict[str, Any]]) -> Counter[Fate]:
    """Put `answer` into each document that has one and whose entry says where its row is; count what became of them.

    Entries of private jobs have commitments there, so nothing of theirs is looked for."""
    wanted: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for document in documents:
        part, sha256 = document["proved"]["part"], document["proved"]["result_sha256"]
        if document["state"] in ANSWERED and _is_told(part) and _is_told(sha256):
            wanted[part][document["n"]] = document
    fates: Counter[Fate] = Counter()
    for part, entries in wanted.items():
        found = _found(site, part, entries)
        for n, document in entries.items():
            fate = found.get(n, Fate.GONE)
            fates[fate] += 1
            document["fate"] = fate.value
    return fates


def _found(site: Site, part: str, entries: dict[int, dict[str, Any]]) -> dict[int, Fate]:
    """Read the rows of a part, and give each document its answer if the row is the one that its entry proves."""
    found: dict[int, Fate] = {}
    try:
        for row in rows_numbered(site.at_rest, site.root / part, entries):
            document, is_same = entries[row.audit_index], False
            with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):  # not as we write rows
                is_same = result_sha256(row) == document["proved"]["result_sha256"]
            found[row.audit_index] = Fate.SHOWN if is_same else Fate.OTHER
            if is_same:
                document["answer"] = answer_of(row, _ANSWER, doubtful_first=False)
    except BadPartError:
        found |= dict.fromkeys(entries.keys() - found.keys(), Fate.OTHER)
    except OSError:
        pass  # what is no longer there is told as gone
    return found


def _is_told(value: Any) -> bool:
    return isinstance(value, str) and not audit.is_commitment(value)
