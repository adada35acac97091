"""The kinds of values that records of commands may have: each is a type with the check of its JSON form.

What a run writes is not checked when it is read, for the log is signed. What was handed over may come from anyone who
can write into the workspace's state/, so each of its values is checked: whoever reads the log relies on them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

_MOST_TEXT = 4_096  # characters
_MOST_INTEGER = 2**53 - 1  # of an entry (audit/FORMAT.md)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MOST_VERDICTS = 16
_MOST_MEASURES = 64
_MEASURE = re.compile(r"[a-z][a-z0-9_]{0,31}", re.ASCII)
_WORD = re.compile(r"[a-z]{1,32}", re.ASCII)
_DOCUMENT = re.compile(r"[0-9a-f]{64}|entry [0-9]{1,15}", re.ASCII)
_QUERY = frozenset({"document", "name", "job", "model", "outcome", "since", "until", "run"})
_ASKED = frozenset({"document", "run", "share", "seed"})


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_TEXT


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST_INTEGER


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_sha256(value: Any) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _is_document(value: Any) -> bool:
    return isinstance(value, str) and _DOCUMENT.fullmatch(value) is not None


def _is_query(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() <= _QUERY and all(map(_is_text, value.values()))


def _is_asked(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != _ASKED:
        return False
    named = all(value[key] is None or _is_text(value[key]) for key in ("document", "run"))
    share = value["share"]
    return named and _is_count(value["seed"]) and type(share) in (int, float) and 0 < share <= 1


def _is_verdicts(value: Any) -> bool:
    words = isinstance(value, dict) and len(value) <= _MOST_VERDICTS and all(map(_WORD.fullmatch, value))
    return words and all(map(_is_count, value.values()))


def _is_measures(value: Any) -> bool:
    named = isinstance(value, dict) and len(value) <= _MOST_MEASURES and all(map(_MEASURE.fullmatch, value))
    return named and all(type(one) in (int, float) and isfinite(one) for one in value.values())


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_count, value))


def _is_model(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != {"model", "sha256", "head", "head_sha256"}:
        return False
    head = value["head"] is None or _is_text(value["head"])
    digests = (value[key] is None or _is_sha256(value[key]) for key in ("sha256", "head_sha256"))
    return _is_text(value["model"]) and head and all(digests)


@dataclass(frozen=True, slots=True)
class ModelAndHead:
    """A model by its name in models/ and the sha256 of its file, and the same of the head that answers with it; a
    sha256 is None where it is not known, and `head` where there is none."""

    model: str
    sha256: str | None
    head: str | None = None
    head_sha256: str | None = None


Text = Annotated[str, _is_text]
Count = Annotated[int, _is_count]
Flag = Annotated[bool, _is_bool]
Sha256 = Annotated[str, _is_sha256]
DocumentName = Annotated[str, _is_document]
"""The sha256 of a document, or `entry N` where the log may not name it."""
Asking = Annotated[Mapping[str, str], _is_query]
"""What a search asked for: the members of search.Query that were given."""
Asked = Annotated[Mapping[str, Any], _is_asked]
"""What a replay was asked for: document, run, share and seed."""
Verdicts = Annotated[Mapping[str, int], _is_verdicts]
"""How often each verdict of a replay fell."""
Measures = Annotated[Mapping[str, float], _is_measures]
"""What was measured, or must be reached: numbers by their names."""
ModelInUse = Annotated[ModelAndHead, _is_model]
"""The model of a job, and its head."""
Numbers = Annotated[tuple[int, ...], _is_numbers]
"""Numbers of entries."""


def fits(value: Any, kind: Any) -> bool:
    """Whether a JSON value is one of `kind`, a type of this file or one of them `| None`."""
    options = [option for option in get_args(kind) if option is not NoneType]
    if get_origin(kind) is not Annotated and NoneType in get_args(kind):
        return value is None or fits(value, options[0])
    check: Callable[[Any], bool] = kind.__metadata__[0]
    return check(value)
