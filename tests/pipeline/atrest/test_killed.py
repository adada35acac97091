"""Runs and erasures in an encrypted workspace that are killed and started again end as those that were not."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import pipeline
from pipeline import RunPlan, Site
from tests.pipeline.atrest.conftest import at_rest_of
from tests.pipeline.atrest.test_at_rest import documents, files
from tests.pipeline.conftest import Witness, make_plan, make_site
from tests.pipeline.outbox.test_recover import fill, rows, run_and_die
from tests.thorough import ALL

EVERY = 9 if ALL else 18  # changes of the file system: each costs two runs


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for place in tmp_path.iterdir():
        shutil.rmtree(at_rest_of(place).cache(place), ignore_errors=True)


def filled(root: Path, model: Path) -> RunPlan:
    """A plan over some documents."""
    site = make_site(root)
    return fill(make_plan(replace(site, at_rest=at_rest_of(root)), model, formats=("parquet",)))


def clear(site: Site) -> dict[str, str]:
    """The sha256 of the clear bytes of all files that are kept."""
    kept = (path for path in files(site.root, "archive", "failed") if not path.name.endswith(".json"))
    return {str(path.relative_to(site.root)): site.at_rest.sha256(path) for path in kept}


def test_runs(root: Path, tiny_model: Path) -> None:
    whole = filled(root / "whole", tiny_model)
    pipeline.run(whole, observer=Witness())
    step, killed = 4, True
    while killed:
        plan = filled(root / str(step), tiny_model)
        killed = run_and_die(plan, step)
        if killed:
            pipeline.run(plan, observer=Witness())
        assert rows(plan.site) == rows(whole.site), step
        assert clear(plan.site) == clear(whole.site), step
        assert "" not in clear(plan.site).values(), step
        assert not any(path.is_file() for path in plan.input.folder.rglob("*")), step
        assert pipeline.verify(plan.site).complete, step
        step += EVERY
    assert step > 40


def test_erasures(root: Path, tiny_model: Path) -> None:
    """Whatever was cut off, the next start ends it, and no key of the document is left."""
    step, killed, before = 0, True, 0
    while killed:
        plan = filled(root / str(step), tiny_model)
        pipeline.run(plan, observer=Witness())
        keys = plan.site.at_rest.store
        before = len(list(keys.names()))
        document = str(documents(plan.site)["invoice.md"].document)

        def erase(plan: RunPlan = plan, document: str = document) -> None:
            pipeline.erase(plan.site, document, "asked for", archive=True, rows=True)

        killed = run_and_die(plan, step, erase)
        pipeline.run(plan, observer=Witness())
        if {row["path"] for row in pipeline.results(plan.site)} >= {"invoice.md"}:
            assert killed, step
            assert len(list(keys.names())) == before, "nothing of it had happened"
        else:
            assert len(list(keys.names())) == before - 1, step
            assert all(len(keys.keys(name)) == 1 for name in keys.names()), step
        assert not any(files(keys.folder, ".new")), step
        assert pipeline.verify(plan.site).ok, step
        step += 4 if ALL else 7
    assert step > 12
