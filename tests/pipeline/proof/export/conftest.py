"""An export that tests share, and a copy of it to be changed."""

import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import audit
import pipeline
from pipeline import Site
from tests.pipeline.conftest import make_site
from tests.pipeline.proof.export.logs import DAYS, fill


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, Path]:
    """A log of three days and two keys, and the export of the second day."""
    root = tmp_path_factory.mktemp("made")
    site = make_site(root / "ws")
    fill(site, dict(zip(DAYS, (300, 300, 100), strict=True)))
    site = rotated(site)
    pipeline.export(site, root / "out", date(2026, 11, 2), date(2026, 11, 2))
    return site, root / "out"


def rotated(site: Site) -> Site:
    key = site.root / "keys" / "new.key"
    public = audit.generate_key(key, site.origin)
    with audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key) as log:
        log.rotate({"run": ""}, key_path=key, public_key=public)
    return replace(site, key_file=key, public_key=public)


@pytest.fixture
def copy(made: tuple[Site, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[1], tmp_path / "copy"))
