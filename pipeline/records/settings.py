"""The settings that determine results: their digest, and how the log keeps them so that a row can be computed again.

The digest is the sha256 of one text, the canonical JSON of all of them. The log has that very text, once for each
digest, in records of type `settings`: it is the concatenation of their `text`, `piece` by `piece`, in one commit.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import audit
from pipeline.heads import head_path
from pipeline.parse import Limits
from pipeline.plan import Bounds, HeadRef, Input, ModelRef, Ocr, RunPlan, Site
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

    def to_plain(self) -> dict[str, str]:
        """The settings as JSON values."""
        return self._texts

    @classmethod
    def from_plain(cls, plain: Mapping[str, str]) -> "KeptSettings":
        """Read settings from what `to_plain` gives."""
        return cls(dict(plain))

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
