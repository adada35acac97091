"""The settings of a run in words, and a readable difference of two of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pipeline.plan import Site
from pipeline.records.entries import read_entries
from pipeline.records.types import SettingsPiece

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
