"""Rows of requests as lines of the output and the error file of their batch."""

import hashlib
import json
from datetime import datetime
from typing import Any

from pipeline.document import Row
from pipeline.errors import Failure
from pipeline.openai.body import compact

_OK = 200


def is_output(row: Row) -> bool:
    """Whether a request has an answer, if only a part of one; else it goes into the error file."""
    return bool(row["status_code"] == _OK)


def format_line(row: Row) -> bytes:
    """The line of a request, which depends on its row alone. Its ids are made of digests."""
    name = f"{row.parent} {row.path} {row.document}"
    request = {
        "id": f"batch_req_{_digest('batch_req', name)}",
        "custom_id": row["custom_id"],
        "response": None if row["status_code"] is None else _response(row, f"req_{_digest('req', name)}"),
        "error": _error(row) if row["status_code"] is None else None,
    }
    return f"{compact(request)}\n".encode()


def _response(row: Row, request_id: str) -> dict[str, Any]:
    body = json.loads(row["body"])
    if is_output(row):
        assert isinstance(row.finished_at, datetime)  # the row is as the table has it
        made_by = _digest("fp", f"{row.model_sha256} {row.numerics}")[:12]
        body = {
            "id": body["id"],
            "object": body["object"],
            "created": int(row.finished_at.timestamp()),
            **{key: value for key, value in body.items() if key not in ("id", "object")},
            "system_fingerprint": f"fp_{made_by}",
        }
    return {"status_code": row["status_code"], "request_id": request_id, "body": body}


def _error(row: Row) -> dict[str, Any]:
    """The error that the row has; of one that could not be read as a request, or was not come to, the failure."""
    if row["error"]:
        return {"code": row["error"]["code"], "message": row["error"]["message"]}
    code = "invalid_json_line" if row.failure == Failure.INVALID_REQUEST else row.failure
    return {"code": code, "message": row.reason}


def _digest(kind: str, name: str) -> str:
    return hashlib.sha256(f"{kind} {name}".encode()).hexdigest()[:32]
