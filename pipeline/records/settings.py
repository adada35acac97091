"""The settings that determine results: their digest, and how the log keeps them so that a row can be computed again.

The digest is the sha256 of one text, the canonical JSON of all of them. The log has that very text, once for each
digest, in records of type `settings`: it is the concatenation of their `text`, `piece` by `piece`, in one commit.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import audit
from pipeline.heads import head_path
from pipeline.parse import Limits
from pipeline.plan import Bounds, HeadRef, Input, ModelRef, Ocr, RunPlan, Site
from pipeline.records.entries import read_entries
from pipeline.records.types import Record, SettingsPiece
from pipeline.tasks import PROMPTS, Writing, from_json, to_json

VERSION: Final = 2
_PIECE = 8000  # characters: at most four bytes each in an entry, which may have 65,535


def settings_text(plan: RunPlan, model_sha256: str) -> str:
    """All settings that determine results, as canonical JSON."""
    limits = {"parse": _plain(asdict(plan.site.limits)), "max_document_bytes": plan.site.max_document_bytes}
    if plan.site.bounds != Bounds():  # which earlier versions did not have
        limits["document"] = asdict(plan.site.bounds)
    read = {"hidden": plan.input.hidden, "ocr": _plain(asdict(plan.input.ocr))}
    whole = {
        "digest": VERSION, "job": plan.job, "task": to_json(plan.task), "model_sha256": model_sha256, "limits": limits,
        "read": read, **_writing(plan.writing), **({"precision": "file"} if plan.model.widen else {}),
        **({"head": {"name": plan.model.head.name, "sha256": plan.model.head.sha256}} if plan.model.head else {}),
    }  # fmt: skip
    return audit.canonical(whole).decode()


def _writing(writing: Writing | None) -> dict[str, Any]:
    """The prompts of a model that writes, and how it is used, but for its memory."""
    if writing is None:
        return {}
    used = {"context": writing.context, "max_tokens": writing.max_tokens, "kv": writing.kv}
    return {"writing": {"prompts": PROMPTS, **used}}


def job_digest(plan: RunPlan, model_sha256: str) -> str:
    """sha256 over all settings that determine results: with (job, document) it keys what was done."""
    return _sha256(settings_text(plan, model_sha256))


def settings_records(plan: RunPlan, model_sha256: str) -> Iterator[SettingsPiece]:
    """The records that keep the settings."""
    text = settings_text(plan, model_sha256)
    pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
    for piece, its in enumerate(pieces):
        yield SettingsPiece(job_digest=_sha256(text), piece=piece, pieces=len(pieces), text=its)


@dataclass
class KeptSettings:
    """The settings that the log has, by digest."""

    _texts: dict[str, str] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type; the pieces of a digest that comes again say the same."""
        if isinstance(entry, SettingsPiece):
            before = self._texts.get(entry.job_digest, "") if entry.piece > 0 else ""
            self._texts[entry.job_digest] = before + entry.text

    def get(self, digest: str) -> Mapping[str, Any] | None:
        """The settings of this digest; None if the log does not have them, or another version of this program does."""
        text = self._texts.get(digest, "")
        if _sha256(text) != digest:
            return None
        values: dict[str, Any] = json.loads(text)
        return values if values.get("digest") == VERSION else None


def restored_plan(values: Mapping[str, Any], site: Site, root: Path, model: ModelRef) -> RunPlan:
    """A plan with these settings, which works below `root` and takes nothing from a folder. Copies are told of."""
    limits, read = values["limits"], values["read"]
    ocr = Ocr(read["ocr"]["enabled"], tuple(read["ocr"]["languages"]))
    parse, writing = Limits(**limits["parse"]), values.get("writing")
    bounds = Bounds(**limits.get("document", {}))
    return RunPlan(
        site=replace(site, root=root, limits=parse, max_document_bytes=limits["max_document_bytes"], bounds=bounds),
        job=values["job"],
        job_file_sha256="",
        input=Input(root, (), 0.0, "keep", duplicates="warn", hidden=read["hidden"], ocr=ocr),
        model=replace(model, widen="precision" in values, head=_head(values.get("head"), site)),
        task=from_json(values["task"]),
        formats=(),
        writing=Writing(**{name: writing[name] for name in writing.keys() - {"prompts"}}) if writing else None,
    )


def _head(values: Mapping[str, Any] | None, site: Site) -> HeadRef | None:
    return HeadRef(values["name"], head_path(site.models, values["name"]), values["sha256"]) if values else None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Tuples as lists: the log knows JSON values only."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


_ROOT = Path(__file__).parents[2]
_PACKAGES = ("audit", "engine", "jobs", "pipeline")


@cache
def software() -> dict[str, str]:
    """`version` of cloister, `source_sha256` of its code, Python, and `lock_sha256` of all installed packages."""
    return {
        "version": metadata.version("cloister"),
        "source_sha256": source_sha256(),
        "lock_sha256": lock_sha256(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def label(of: Mapping[str, str] | None = None) -> str:
    """The short form that stands in the result table; of this software if no other is given."""
    facts = of or software()
    return f"cloister {facts['version']} ({facts['source_sha256'][:12]})"


def source_sha256() -> str:
    """sha256 over the paths and bytes of all our Python files, in sorted order."""
    digest = hashlib.sha256()
    for path in sorted(path for package in _PACKAGES for path in (_ROOT / package).rglob("*.py")):
        body = path.read_bytes()
        digest.update(f"{path.relative_to(_ROOT)}\0{len(body)}\0".encode() + body)
    return digest.hexdigest()


def lock_sha256() -> str:
    """sha256 over the sorted lines name==version of every package in this environment: the lock as it is installed."""
    lines = {f"{d.name.lower()}=={d.version}" for d in metadata.distributions()}
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


_NAMES: Final = ("name", "path")
_LABELS: Final = {
    "model_sha256": "model (sha256)",
    "max_document_bytes": "largest document (bytes)",
    "sha256": "sha256",
    "ocr": "reading of pictures",
    "digest": "version of the settings",
}


@dataclass(frozen=True)
class Difference:
    """One setting that differs: where it stands, in words, and what it was and is; None where it was not there."""

    where: tuple[str, ...]
    before: str | None
    after: str | None


def read_settings(site: Site, first: int, digest: str) -> Mapping[str, Any]:
    """The settings of a digest, whose first piece is this entry. LookupError; audit.AuditError."""
    texts = list[str]()
    for entry in read_entries(site, first):
        if not isinstance(entry, SettingsPiece) or entry.job_digest != digest:
            break
        texts.append(entry.text)
        if len(texts) == entry.pieces:
            found: dict[str, Any] = json.loads("".join(texts))
            return found
    raise LookupError(f"the log does not have the settings {digest[:12]}")


def settings_in_words(settings: Mapping[str, Any]) -> list[tuple[tuple[str, ...], str]]:
    """Every setting: where it stands, in words, and its value."""
    return list(_flat(settings, ()))


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Return what differs between two settings, in the order of the later ones. What has a name (labels, fields) is
    compared by its name, so that one that was added does not make all behind it differ."""
    old, new = dict(_flat(before, ())), dict(_flat(after, ()))
    found = [Difference(where, old.get(where), value) for where, value in new.items() if old.get(where) != value]
    return found + [Difference(where, value, None) for where, value in old.items() if where not in new]


def _flat(value: Any, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    match value:
        case Mapping():
            for key, each in value.items():
                yield from _flat(each, (*where, _LABELS.get(key, str(key).replace("_", " "))))
        case list() if value and all(isinstance(each, Mapping) for each in value):
            for number, each in enumerate(value, 1):
                yield from _flat(_without_name(each), (*where, _name_of(each) or f"no. {number}"))
        case list():
            yield where, ", ".join(map(_told, value)) or "none"
        case _:
            yield where, _told(value)


def _name_of(value: Mapping[str, Any]) -> str | None:
    return next((str(value[key]) for key in _NAMES if isinstance(value.get(key), str)), None)


def _without_name(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A named thing without its name, which says where it stands; one that is nothing else is there, at least."""
    rest = {key: each for key, each in value.items() if key not in _NAMES}
    return rest or {"": "there"}


def _told(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case str() | float():
            return str(value)
        case Sequence():
            return ", ".join(map(_told, value))
    return str(value)
