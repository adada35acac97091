"""Batch: the requests of files in the OpenAI Batch format, each answered as it asks; for models that write."""

from dataclasses import dataclass
from typing import Final

import pyarrow as pa


@dataclass(frozen=True)
class BatchSettings:
    """`models`: the names that requests may call the model by, at least one; answers bear the first."""

    models: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.models:
            raise ValueError("the model has no name")


COLUMNS: Final = (
    pa.field("custom_id", pa.string()),
    pa.field("line", pa.int64()),
    pa.field("status_code", pa.int32()),
    pa.field("body", pa.string()),
    pa.field("error", pa.struct([("code", pa.string()), ("message", pa.string())])),
)
