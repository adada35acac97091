"""Every type of record in the log, and the members that its writer gives it: the table in README.md is made of this.

The log adds `v`, `n`, `time`, `boot`, `uptime_us`, `host` and `user` to each. What a run makes bears `run` and `job`;
of what a command makes, `run` is "". What was handed over (handover.py) bears `handed`. It may come from anyone who can
write into the workspace's state/, so only types that prove nothing may be handed over, and each of their values is
checked: whoever reads the log relies on them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_MOST_TEXT = 4_096  # characters
_MOST_INTEGER = 2**53 - 1  # of an entry (audit/FORMAT.md)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MOST_VERDICTS = 16
_WORD = re.compile(r"[a-z]{1,32}", re.ASCII)
_DOCUMENT = re.compile(r"[0-9a-f]{64}|entry [0-9]{1,15}", re.ASCII)
_QUERY = frozenset({"document", "name", "job", "model", "outcome", "since", "until", "run"})
_ASKED = frozenset({"document", "run", "share", "seed"})


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_TEXT


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST_INTEGER


def _is_query(value: Any) -> bool:
    """Whether this is what search.Query.asked gives."""
    return isinstance(value, dict) and value.keys() <= _QUERY and all(map(_is_text, value.values()))


def _is_asked(value: Any) -> bool:
    """Whether this is what Replay.to_record says was asked for."""
    if not isinstance(value, dict) or value.keys() != _ASKED:
        return False
    named = all(value[key] is None or _is_text(value[key]) for key in ("document", "run"))
    share = value["share"]
    return named and _is_count(value["seed"]) and type(share) in (int, float) and 0 < share <= 1


def _is_verdicts(value: Any) -> bool:
    """Whether this is a count for each of some words, as Replay.counts gives them."""
    words = isinstance(value, dict) and len(value) <= _MOST_VERDICTS and all(map(_WORD.fullmatch, value))
    return words and all(map(_is_count, value.values()))


_VALUES: dict[str, Callable[[Any], bool]] = {
    "text": _is_text,
    "count": _is_count,
    "bool": lambda value: isinstance(value, bool),
    "sha256": lambda value: isinstance(value, str) and _SHA256.fullmatch(value) is not None,
    "document": lambda value: isinstance(value, str) and _DOCUMENT.fullmatch(value) is not None,
    "query": _is_query,
    "asked": _is_asked,
    "verdicts": _is_verdicts,
    "numbers": lambda value: isinstance(value, list) and all(map(_is_count, value)),
    "any": lambda value: True,
}
"""What the kinds of values in the table mean."""


@dataclass(frozen=True)
class Kind:
    """What records of a type say, and the members: name -> kind of value; with a `?`, it may be null.

    `command`: made outside of runs. `handed`: it proves nothing, so it may be handed to the one who holds the log.
    """

    says: str
    members: Mapping[str, str]
    command: bool = False
    handed: bool = False


def _run(says: str, members: str) -> Kind:
    return Kind(says, dict.fromkeys(members.split(), "any"))


def _command(says: str, members: str) -> Kind:
    return Kind(says, dict(member.split(":") for member in members.split()), command=True)


def _handed(says: str, members: str) -> Kind:
    return Kind(says, dict(member.split(":") for member in members.split()), command=True, handed=True)


_COUNTS = "seen done abstained review failed duplicate ignored pending known"

KINDS: dict[str, Kind] = {
    "service.started": _handed("`cloister serve` begins", "pid:count version:text"),
    "service.ended": _handed("`cloister serve` ends", "pid:count why:text"),
    "key.admitted": _run("the first run under this key", "public_key"),
    "key.rotated": _run("another key signs, from this entry on (audit/FORMAT.md)", "old_key new_key note"),
    "job.admitted": _run("a job runs for the first time; `after`: its file and settings", "before after"),
    "job.changed": _run("a job's file or settings are not those of its last run", "before after"),
    "model.admitted": _command("a model file is new under its name", "model:text before:sha256? after:sha256 by:text"),
    "model.changed": _command("another model file has this name", "model:text before:sha256? after:sha256 by:text"),
    "run.started": _run(
        "a run begins, and takes `ready` files",
        "job_digest job_file_sha256 model model_sha256 pinned duplicates retry software ready settling held ignored "
        "isolation",
    ),
    "run.empty": _run(
        "a run had nothing to do; once in a night while nothing changes", f"job_digest model_sha256 {_COUNTS}"
    ),
    "run.finished": _run("a run ends; `seen` is the sum of the states", f"{_COUNTS} tokens seconds interrupted parts"),
    "run.refused": _run("a run did not begin: its model, or the machine, was refused", "model reason"),
    "run.stopped": _run("a full disk ended the run", "reason where"),
    "settings": _run("the settings of `job_digest`, in pieces", "job_digest piece pieces text"),
    "inputs": _run("paths that got no row, when that or the reason is new", "state reason paths"),
    "document": _run(
        "a document's row, and everything that made it",
        "document path path_bytes parent size media_type encoding encoding_confidence language pages state failure "
        "reason hidden duplicate_of supersedes replaces parser text_sha256 tokens finished_at result_sha256 markdown "
        "outputs unread part row job_digest model model_sha256 tokenizer_sha256 numerics engine software parse_options",
    ),
    "part": _run("a table of results, of the documents before it", "file sha256 rows first folder afterwards"),
    "placed": _run("a part and its documents are in place", "file"),
    "deleted.by_rule": _run("what the job keeps no longer is to be deleted", "rule days archive parts markdown"),
    "erased": _run("a document is to be erased", "entries archive failed markdown parts rows reason"),
    "deleted": _run("a deletion is done", "deletion"),
    "hold": _run("documents may not be deleted", "entries reason"),
    "released": _run("a hold has ended", "hold reason"),
    "recovered.cut": _run("what an interrupted commit left behind the log was cut", "bytes entries files"),
    "recovered.undone": _run("staged files that were never committed were removed", "files"),
    "handover.refused": _run(
        "what lay in state/handover/ was no record that may be handed over", "file owner reason kept"
    ),
    "clock.stepped": _run("the clock was set since the entry of `before`", "seconds before"),
    "verified": _handed(
        "`cloister audit verify`: findings of each kind",
        "size:count root:sha256 integrity:count altered:count added:count absent:count",
    ),
    "exported": _command(
        "`cloister audit export` wrote the entries `first` to `end` - 1 to a folder",
        "from:text before:text first:count end:count export_sha256:sha256",
    ),
    "read.results": _handed("rows were shown", "job:text? failed:bool limit:count?"),
    "read.story": _handed("a document's story was shown", "document:document?"),
    "read.proof": _handed("an entry was given out with its proof", "entry:count"),
    "read.checkpoint": _handed("the checkpoint was given out, to be kept or cosigned", "size:count"),
    "read.search": _handed("entries of documents were searched for", "query:query"),
    "read.recall": _handed("what a model touched was shown", "model_sha256:sha256"),
    "replayed": _handed(
        "rows were computed again: verdicts, and entries that came out differently",
        "asked:asked rows:count counts:verdicts different:numbers",
    ),
}


HANDED = frozenset(name for name, kind in KINDS.items() if kind.handed)
"""The types that may be handed over: reads, checks, and the service's beginning and end. Whatever proves something or
changes what holds (exports, erasures, holds, releases, models brought in) is written by its command alone."""


UNPROVED = "handed."
"""What the type of an entry begins with, as it is read, that was handed over and may not be (entries.py)."""


def says(kind: str) -> str | None:
    """What records of a type say, in words; None for a type that this version does not know."""
    if kind.startswith(UNPROVED):
        return "it was handed over, so it proves nothing"
    return KINDS[kind].says if kind in KINDS else None


def check_record(record: Mapping[str, Any]) -> None:
    """ValueError unless a command may make this record: a type of the table, with exactly its members."""
    kind = KINDS.get(str(record.get("type")))
    if kind is None or not kind.command:
        raise ValueError(f"no command makes records of type {record.get('type')!r}")
    found = set(record) - {"run", "type"}
    wrong = found ^ kind.members.keys() or {n for n in found if not _fits(record[n], kind.members[n])}
    if wrong:
        raise ValueError(f"a record of type {record['type']} with other members or values: {', '.join(sorted(wrong))}")


def check_handed(record: Mapping[str, Any]) -> None:
    """ValueError unless this record may be handed over."""
    check_record(record)
    if record["type"] not in HANDED:
        raise ValueError(f"a record of type {record['type']} proves something, and is never handed over")


def _fits(value: Any, kind: str) -> bool:
    return kind.endswith("?") if value is None else _VALUES[kind.removesuffix("?")](value)


DELETIONS = frozenset({"deleted.by_rule", "erased"})
"""The types of the records that announce a deletion; `deleted` says that the one of number `deletion` is done."""
