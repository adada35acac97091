"""While a model is loaded nobody looks for garbage; afterwards it is as it was before."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.parametrize("was_enabled", [True, False])
def test_garbage_is_looked_for_as_before(was_enabled: bool, tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "f.gguf").write_bytes(b"GGUF" + bytes(40))
    (gc.enable if was_enabled else gc.disable)()
    engine.load(tiny_model)
    assert gc.isenabled() is was_enabled
    with pytest.raises(engine.BadModelFile):
        engine.load(tmp_path / "f.gguf")
    assert gc.isenabled() is was_enabled


def test_nobody_looks_for_it_meanwhile(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.engine.make_model", lambda *_, **more: gc.isenabled())
    gc.enable()
    assert engine.load(tiny_model) is False
