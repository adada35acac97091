"""CSV from the tables of a body, JSON from a body that is JSON."""

import csv
import io
import json

from markup import Source


def write_csv(source: Source) -> bytes:
    """The rows of all tables; German offices separate by semicolons and write a byte order mark."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";" if source.german else ",", lineterminator="\r\n")
    writer.writerows(row for block in source.blocks if block.kind == "table" for row in block.rows)
    return out.getvalue().encode("utf-8-sig" if source.german else "utf-8")


def write_json(source: Source) -> bytes:
    """The body, checked and laid out."""
    return (json.dumps(json.loads(source.body), indent=2, ensure_ascii=False) + "\n").encode()
