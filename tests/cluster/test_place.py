"""A worker's folder of models: found by what they hold, and received piece by piece."""

import hashlib
import os
from pathlib import Path

import pytest

from pipeline.cluster.errors import ClusterError
from pipeline.cluster.place import HEAD, MODEL, Place

DATA = bytes(range(256)) * 100
SHA = hashlib.sha256(DATA).hexdigest()


def test_a_model_of_the_site_is_found_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "my-model.gguf").write_bytes(DATA)
    (tmp_path / "notes.txt").write_text("no model")
    place = Place(tmp_path)
    assert place.path(SHA, MODEL) == tmp_path / "my-model.gguf"
    assert place.has(SHA, MODEL)
    assert not place.has(SHA, HEAD)


def test_a_model_comes_piece_by_piece_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    assert not Place(tmp_path).receive(SHA, MODEL, 0, DATA[:1000], len(DATA))
    place = Place(tmp_path)  # the worker began anew
    assert not place.has(SHA, MODEL)
    assert place.received(SHA, MODEL) == 1000
    with pytest.raises(ValueError, match="expected from 1000 on"):
        place.receive(SHA, MODEL, 0, DATA, len(DATA))
    assert place.receive(SHA, MODEL, 1000, DATA[1000:], len(DATA))
    assert place.path(SHA, MODEL).read_bytes() == DATA


def test_other_bytes_are_no_model(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with pytest.raises(ValueError, match="expected " + SHA):
        place.receive(SHA, MODEL, 0, DATA[:-1] + b"!", len(DATA))
    assert place.received(SHA, MODEL) == 0, "it is begun anew"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../" + SHA, SHA.upper(), SHA[:-1], ""])
def test_what_is_no_digest_names_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not the digest"):
        Place(tmp_path).receive(name, MODEL, 0, DATA, len(DATA))
    with pytest.raises(ValueError, match="not the digest"):
        Place(tmp_path).path(SHA, ".so")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ClusterError, match="name another folder"):
        Place(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ClusterError, match="may not be written"):
        Place(tmp_path)
