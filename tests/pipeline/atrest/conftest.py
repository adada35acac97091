"""A workspace whose site says that what is kept of documents is encrypted."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import pipeline
from pipeline import RunPlan, Site
from pipeline.atrest.files import AtRest
from pipeline.atrest.store import make_kek
from tests.pipeline.conftest import make_plan, make_site


def at_rest_of(root: Path, name: str = "rest.key", previous: str | None = None, *, encrypts: bool = True) -> AtRest:
    """By the key in this file of keys/, which is made if there is none."""
    if not (root / "keys" / name).exists():
        make_kek(root / "keys" / name)
    before = root / "keys" / previous if previous else None
    return AtRest(pipeline.atrest.store_of(root), root / "keys" / name, before, encrypts)


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[Site]:
    """The site of an empty workspace."""
    site = make_site(tmp_path / "workspace")
    site = replace(site, at_rest=at_rest_of(site.root))
    yield site
    shutil.rmtree(site.at_rest.cache(site.state))


@pytest.fixture
def plan(encrypted: Site, tiny_model: Path) -> RunPlan:
    """A job of it."""
    encrypted.models.mkdir()
    model = encrypted.models / "tiny.gguf"
    model.symlink_to(tiny_model)
    return make_plan(encrypted, model, formats=("parquet",))
