"""How the parsers of a run were held, as its first entry says it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.plan import REQUIRED


@dataclass(frozen=True)
class Isolation:
    """`wanted`: required or best_effort; `lacking`: the protections that are not in force, also those that may lack."""

    wanted: str
    lacking: tuple[str, ...]

    @property
    def told(self) -> str | None:
        """What people have to be told of it; None where all that is required is in force because it has to be."""
        if self.wanted == REQUIRED:
            return None
        return f"best_effort: {', '.join(self.lacking)} not in force" if self.lacking else "best_effort: all in force"

    def to_record(self) -> dict[str, Any]:
        """As the log has it."""
        return {"wanted": self.wanted, "lacking": list(self.lacking)}


def from_record(record: Mapping[str, Any] | None) -> Isolation | None:
    """The opposite, of an entry; None for a run without parsers and in logs of older versions."""
    return Isolation(record["wanted"], tuple(record["lacking"])) if record else None
