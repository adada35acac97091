"""The columns of a row that say what came in, and the row of a document that has no answer."""

from dataclasses import asdict, dataclass
from typing import Any, Final

from pipeline.document import Parsed
from pipeline.errors import Failure
from pipeline.inbox.intake import Arrival
from pipeline.states import State
from pipeline.text.language import language

Row = dict[str, Any]
MADE_BY: Final = "made_by"
"""The key of a row, beside its columns, under which the worker of a cluster that made it stands."""


@dataclass(frozen=True)
class Work:
    """A parsed document on its way to an answer; `seconds` is what it took so far."""

    arrival: Arrival
    parsed: Parsed
    seconds: float


def failed_row(arrival: Arrival, parsed: Parsed | None, failure: Failure, reason: str) -> Row:
    """The row of a document that has no answer."""
    ended = {"state": State.FAILED.value, "failure": failure.value, "reason": reason, "tokens": 0, "seconds": 0.0}
    return input_columns(arrival, parsed) | ended


def input_columns(arrival: Arrival, parsed: Parsed | None) -> Row:
    """The columns that say what came in."""
    columns: Row = {
        "document": arrival.sha256, "path": arrival.path, "parent": arrival.parent, "size": arrival.size,
    }  # fmt: skip
    if parsed:
        columns |= {
            "media_type": parsed.media_type,
            "encoding": parsed.encoding,
            "encoding_confidence": parsed.encoding_confidence,
            "language": language(parsed.text),
            "pages": len(parsed.page_starts) or None,
            "notes": list(parsed.notes),
            "hidden": [asdict(hidden) for hidden in parsed.hidden],
            "parser": parsed.parser,
            "text_sha256": parsed.text_sha256,
        }
    return columns
