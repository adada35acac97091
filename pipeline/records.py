"""Every type of record in the log, and the members that its writer gives it: the table in README.md is made of this.

The log adds `v`, `n`, `time`, `boot`, `uptime_us`, `host` and `user` to each. What a run makes bears `run` and `job`;
of what a command makes, `run` is "". What was handed over (handover.py) bears `handed`. It may come from anyone who can
write into the workspace's state/, so its values are checked too: those who read the log rely on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_VALUES: dict[str, type | tuple[type, ...]] = {
    "text": str, "int": int, "bool": bool, "list": list, "object": dict, "": (str, int, float, bool, list, dict),
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """What records of a type say, and the members: name -> kind of value; with a `?`, it may be null.

    `command`: made outside of runs, so it may be handed to the one who holds the log.
    """

    says: str
    members: Mapping[str, str]
    command: bool = False


def _run(says: str, members: str) -> Kind:
    return Kind(says, dict.fromkeys(members.split(), "?"))


def _command(says: str, members: str) -> Kind:
    return Kind(says, dict(member.split(":") for member in members.split()), command=True)


_COUNTS = "seen done abstained review failed duplicate ignored pending known"

KINDS: dict[str, Kind] = {
    "service.started": _command("`cloister serve` begins", "pid:int version:text"),
    "service.ended": _command("`cloister serve` ends", "pid:int why:text"),
    "key.admitted": _run("the first run under this key", "public_key"),
    "key.rotated": _run("another key signs, from this entry on (audit/FORMAT.md)", "old_key new_key note"),
    "job.admitted": _run("a job runs for the first time; `after`: its file and settings", "before after"),
    "job.changed": _run("a job's file or settings are not those of its last run", "before after"),
    "model.admitted": _command("a model file is new under its name", "model:text before:text? after:text by:text"),
    "model.changed": _command("another model file has this name", "model:text before:text? after:text by:text"),
    "run.started": _run(
        "a run begins, and takes `ready` files",
        "job_digest job_file_sha256 model model_sha256 pinned duplicates retry software ready settling held ignored",
    ),
    "run.empty": _run(
        "a run had nothing to do; once in a night while nothing changes", f"job_digest model_sha256 {_COUNTS}"
    ),
    "run.finished": _run("a run ends; `seen` is the sum of the states", f"{_COUNTS} tokens seconds interrupted parts"),
    "run.stopped": _run("a full disk ended the run", "reason where"),
    "settings": _run("the settings of `job_digest`, in pieces", "job_digest piece pieces text"),
    "inputs": _run("paths that got no row, when that or the reason is new", "state reason paths"),
    "document": _run(
        "a document's row, and everything that made it",
        "document path path_bytes parent size media_type encoding encoding_confidence language pages state failure "
        "reason hidden duplicate_of supersedes parser text_sha256 tokens finished_at result_sha256 markdown outputs "
        "part row job_digest model model_sha256 tokenizer_sha256 numerics engine software parse_options",
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
    "handover.refused": _run("what lay in state/handover/ was no record", "file owner reason"),
    "clock.stepped": _run("the clock was set since the entry of `before`", "seconds before"),
    "verified": _command(
        "`cloister audit verify`: findings of each kind",
        "size:int root:text integrity:int altered:int added:int absent:int",
    ),
    "exported": _command(
        "`cloister audit export` wrote the entries `first` to `end` - 1 to a folder",
        "from:text before:text first:int end:int export_sha256:text",
    ),
    "read.results": _command("rows were shown", "job:text? failed:bool limit:int?"),
    "read.story": _command("a document's story was shown", "document:text?"),
    "read.proof": _command("an entry was given out with its proof", "entry:int"),
    "read.checkpoint": _command("the checkpoint was given out, to be kept or cosigned", "size:int"),
    "read.search": _command("entries of documents were searched for", "query:object"),
    "read.recall": _command("what a model touched was shown", "model_sha256:text"),
    "replayed": _command(
        "rows were computed again: verdicts, and entries that came out differently",
        "asked:object rows:int counts:object different:list",
    ),
}


def check_record(record: Mapping[str, Any]) -> None:
    """ValueError unless a command may make this record: a type of the table, with exactly its members."""
    kind = KINDS.get(str(record.get("type")))
    if kind is None or not kind.command:
        raise ValueError(f"no command makes records of type {record.get('type')!r}")
    found = set(record) - {"run", "type"}
    wrong = found ^ kind.members.keys() or {n for n in found if not _fits(record[n], kind.members[n])}
    if wrong:
        raise ValueError(f"a record of type {record['type']} with other members or values: {', '.join(sorted(wrong))}")


def _fits(value: Any, kind: str) -> bool:
    if value is None:
        return kind.endswith("?")
    expected = _VALUES[kind.removesuffix("?")]
    return isinstance(value, expected) and (not isinstance(value, bool) or expected in (bool, _VALUES[""]))
