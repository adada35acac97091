"""The maker of rows, as the log tells of it: model, software and machine (settings.py: its settings)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import engine
from pipeline.inbox.find import Found
from pipeline.parse import Tesseract
from pipeline.plan import RunPlan
from pipeline.records.settings import software
from pipeline.records.types import Isolation, ParseOptions, RunStarted


def started(plan: RunPlan, digest: str, model_sha256: str, found: Found, isolation: Isolation | None) -> RunStarted:
    """The entry that opens a run, which takes what was found; `isolation` is None where it needs no parsers."""
    return RunStarted(
        job_digest=digest,
        job_file_sha256=plan.job_file_sha256,
        model=plan.model.name,
        model_sha256=model_sha256,
        pinned=plan.model.sha256 is not None,
        duplicates=plan.input.duplicates,
        retry=None if plan.retry is None else tuple(sorted(plan.retry)),
        software=software(),
        ready=len(found.sources),
        settling=len(found.scan.settling),
        held=len(found.scan.held),
        ignored=len(found.scan.ignored),
        isolation=isolation,
        requests=plan.requests,
        rerun=found.asked,
        silence=plan.silence,
        cluster=plan.cluster.scheduler if plan.cluster else None,
        versions=plan.versions,
    )


@dataclass(frozen=True)
class Maker:
    """The maker in every document's entry: which settings, model, software and machine made the row."""

    job_digest: str
    model: str
    model_sha256: str
    tokenizer_sha256: str
    numerics: str
    engine: Mapping[str, Any]
    software: Mapping[str, str]
    parse_options: ParseOptions


def maker(
    plan: RunPlan,
    digest: str,
    model: "engine.Model | engine.LanguageModel",
    parsing: Mapping[str, Any],
    tesseract: Tesseract | None,
) -> Maker:
    """The maker of the rows of a run whose parsers are held as `parsing` tells."""
    return Maker(
        job_digest=digest,
        model=plan.model.name,
        model_sha256=model.sha256,
        tokenizer_sha256=model.tokenizer_sha256,
        numerics=engine.NUMERICS,
        engine=dict(model.facts),
        software=software(),
        parse_options=ParseOptions(
            limits=parsing["limits"],
            isolation=parsing["isolation"],
            hidden=plan.input.hidden,
            ocr=tesseract.describe() if tesseract else None,
        ),
    )
