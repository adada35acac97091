"""Types of result columns that several tasks and the result table share."""

import pyarrow as pa

EVIDENCE = pa.struct(
    [
        ("page", pa.int32()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("text", pa.string()),
        ("section", pa.string()),
    ]
)
