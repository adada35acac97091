"""What the log says of the maker: settings, model, software and machine."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import audit
import engine
from pipeline.discover import Scan
from pipeline.parse import Tesseract
from pipeline.plan import RunPlan
from pipeline.software import software
from pipeline.tasks import TASKS


def job_digest(plan: RunPlan, model_sha256: str) -> str:
    """sha256 over all settings that determine results: with (job, document) it keys what was done."""
    task = next(name for name, kind in TASKS.items() if isinstance(plan.task, kind.settings))
    settings = {"type": task, **_plain(asdict(plan.task))}
    limits = {"parse": _plain(asdict(plan.site.limits)), "max_document_bytes": plan.site.max_document_bytes}
    read = {"hidden": plan.input.hidden, "ocr": _plain(asdict(plan.input.ocr))}
    whole = {
        "digest": 2, "job": plan.job, "task": settings, "model_sha256": model_sha256, "limits": limits, "read": read,
    }  # fmt: skip
    return hashlib.sha256(audit.canonical(whole)).hexdigest()


def started(plan: RunPlan, digest: str, model_sha256: str, found: Scan, ready: int) -> dict[str, Any]:
    """The entry that opens a run, which takes `ready` documents."""
    return {
        "type": "run.started",
        "job_digest": digest,
        "job_file_sha256": plan.job_file_sha256,
        "model": plan.model.name,
        "model_sha256": model_sha256,
        "pinned": plan.model.sha256 is not None,
        "retry": None if plan.retry is None else sorted(plan.retry),
        "software": software(),
        "ready": ready,
        "settling": len(found.settling),
        "held": len(found.held),
        "ignored": len(found.ignored),
    }


def maker(
    plan: RunPlan, digest: str, model: engine.Model, parsing: Mapping[str, Any], tesseract: Tesseract | None
) -> dict[str, Any]:
    """What stands in every document's entry: which model, software and machine made the row."""
    return {
        "job_digest": digest,
        "model": plan.model.name,
        "model_sha256": model.sha256,
        "tokenizer_sha256": model.tokenizer_sha256,
        "numerics": engine.NUMERICS,
        "engine": dict(model.facts),
        "software": software(),
        "parse_options": {
            "limits": parsing["limits"],
            "isolation": parsing["isolation"],
            "hidden": plan.input.hidden,
            "ocr": tesseract.describe() if tesseract else None,
        },
    }


def _plain(value: Any) -> Any:
    """Tuples as lists: the log knows JSON values only."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
