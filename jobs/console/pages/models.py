"""Models: which ones made rows, whether they may still be used, and what one of them touched."""

import re
from typing import Final

from starlette.responses import RedirectResponse, Response

import pipeline
from jobs.console.attempt import attempt
from jobs.console.house import House, Visit
from jobs.console.page import Page
from jobs.console.render import render
from jobs.console.rights import Right

_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_RUNS: Final = 30


def _models(visit: Visit) -> Response:
    house = visit.house
    return render(
        visit,
        "models.html",
        models=attempt(lambda: _uses(house)),
        decisions=attempt(lambda: house.present.admissions().last),
        required=house.site.require_admission,
        behind=attempt(house.indexes.behind),
    )


def _uses(house: House, sha256: str | None = None) -> list[pipeline.ModelUse]:
    with house.indexes.opened() as index:
        return index.models(sha256)


def _model(visit: Visit) -> Response:
    house, sha256 = visit.house, _sha256_of(visit)
    uses = _uses(house, sha256)
    decision = attempt(lambda: house.present.admissions().last.get(sha256))
    if not uses and not decision.value:
        raise LookupError(f"The log knows no model with the sha256 {sha256[:12]}.")
    return render(
        visit,
        "model.html",
        sha256=sha256,
        use=uses[0] if uses else None,
        decision=decision,
        runs=attempt(lambda: _runs(house, sha256)),
        running=house.present.running(),
        behind=attempt(house.indexes.behind),
    )


def _runs(house: House, sha256: str) -> list[pipeline.RunTold]:
    with house.indexes.opened() as index:
        return index.runs_of(sha256, _RUNS)


def _recall(visit: Visit) -> Response:
    sha256 = _sha256_of(visit)
    title, link = f"list what the model {sha256[:12]} touched", f"/models/{sha256}"
    work = visit.house.works.start(visit.name, title, ("audit", "recall", "--model", sha256), link=link)
    return RedirectResponse(f"/works/{work.number}", 303)


def _sha256_of(visit: Visit) -> str:
    sha256 = str(visit.path["sha256"])
    if not _SHA256.fullmatch(sha256):
        raise LookupError("A model is asked for by its whole sha256.")
    return sha256


PAGES = (
    Page("/models", _models, Right.LISTS),
    Page("/models/{sha256:str}", _model, Right.LISTS),
    Page("/models/{sha256:str}/recall", _recall, Right.LOG, "POST"),
)
