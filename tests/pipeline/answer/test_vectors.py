"""`vectors`: what is kept is used, and nothing that was changed, torn, or made by another model or arithmetic is."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pipeline.answer import vectors
from pipeline.answer.vectors import WORTH, KeptVectors

FACTS = {"model_sha256": "ab" * 32, "numerics": 3, "widen": False}
SECRET = b"of the log"
TEXTS = [f"text {number}" for number in range(WORTH)]


class Counting:
    """A model that says which texts it embedded."""

    context = 128
    prompts = ("", "")
    unrelated = 0.0

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        made = [np.frombuffer(f"{text:8.8}".encode(), np.uint8) for text in texts]
        return np.array(made, np.float32).reshape(len(texts), 8) / np.float32(7)


def kept(path: Path, texts: Sequence[str], **facts: object) -> list[str]:
    """The texts that had to be embedded; whatever is kept, the vectors are those of the model."""
    model = Counting()
    keeping = KeptVectors(model, path, FACTS | facts, SECRET)
    found = keeping.embed(texts)
    assert found.tobytes() == Counting().embed(texts).tobytes()
    assert (str(found.dtype), found.shape) == ("float32", (len(texts), 8))
    keeping.save()
    return model.asked


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of vectors that were kept."""
    file = tmp_path / "state" / "vectors" / "sort.examples"
    assert kept(file, TEXTS) == TEXTS
    return file


def test_what_is_kept_is_not_embedded_again(path: Path) -> None:
    before = path.read_bytes()
    assert kept(path, TEXTS) == []
    assert kept(path, [*TEXTS, *TEXTS[::-1]]) == [], "each in its place, however often"
    assert kept(path, ["new", *TEXTS, "new"]) == ["new"]
    assert kept(path, ["new"]) == []
    assert kept(path, TEXTS) == []
    assert path.read_bytes() == before, "those of the last time, and no others"
    assert [each.name for each in path.parent.iterdir()] == ["sort.examples"]


def test_another_model_or_arithmetic_finds_nothing(path: Path) -> None:
    for facts in ({"model_sha256": "cd" * 32}, {"numerics": 4}, {"widen": True}):
        before = path.read_bytes()
        assert kept(path, TEXTS, **facts) == TEXTS
        path.write_bytes(before)


def test_no_byte_that_was_changed_is_trusted(path: Path) -> None:
    data = path.read_bytes()
    for at in (*range(0, len(data), 97), len(data) - 1):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert kept(path, TEXTS) == TEXTS
        assert path.read_bytes() == data


def test_what_somebody_else_sealed_is_not_trusted(path: Path) -> None:
    forged = KeptVectors(Counting(), path, FACTS, b"of nobody")
    forged.embed([*TEXTS, "new"])
    forged.save()
    assert kept(path, TEXTS) == TEXTS


def test_without_the_key_nothing_is_kept(tmp_path: Path) -> None:
    keeping = KeptVectors(Counting(), tmp_path / "vectors", FACTS, None)
    keeping.embed(TEXTS)
    keeping.save()
    assert not (tmp_path / "vectors").exists()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_torn_file_is_as_if_it_was_not_there(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    assert kept(path, TEXTS) == TEXTS
    assert path.read_bytes() == data


def test_few_texts_leave_no_file(tmp_path: Path) -> None:
    assert kept(tmp_path / "few", TEXTS[1:]) == TEXTS[1:]
    assert not (tmp_path / "few").exists()


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert kept(tmp_path / "file" / "vectors", TEXTS) == TEXTS


def test_no_texts_have_no_vectors(path: Path) -> None:
    assert KeptVectors(Counting(), path, FACTS, SECRET).embed([]).shape == (0, 8)


def test_work_that_was_stopped_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.unlink()
    monkeypatch.setattr(vectors, "SECONDS", 0.0)
    stopped = KeptVectors(Counting(), path, FACTS, SECRET)
    stopped.embed(TEXTS)
    assert kept(path, [*TEXTS, "new"]) == ["new"], "though nobody said that it is done"
    stopped = KeptVectors(Counting(), path, FACTS, SECRET)
    stopped.embed([*TEXTS[:3], "another"])
    assert kept(path, [*TEXTS, "another"]) == [], "what was kept before is kept, too"


def test_of_too_many_texts_the_first_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MOST", WORTH)
    assert kept(path, [*TEXTS, "one", "two"]) == ["one", "two"]
    assert kept(path, [*TEXTS, "one", "two"]) == ["one", "two"]
