"""Golden answers are digests of all numbers that a model gives, of any kind; texts are kept by their digest."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

import engine
from pipeline import ModelRefusedError, Site
from pipeline.control.files import Contents, find_file
from pipeline.control.golden import BUILT_IN, Answered, Golden, ask, check_count, keep_golden, kept_golden
from pipeline.heads import BUILTIN, HeadFile, write_head
from pipeline.paths.names import file_sha256
from tests.encoders import write_encoder

TEXTS = ["the lease", "rechnung 17"]


def made(site: Site, tmp_path: Path, head: str, seed: int = 5) -> Path:
    """A model of this kind in models/."""
    site.models.mkdir(exist_ok=True)
    path = site.models / f"{head}-{seed}.gguf"
    folder = write_encoder(tmp_path / f"{head} {seed}", "bert", head, seed=seed)
    engine.import_model(folder, path, name="m", file_type="f32")
    return path


def asked(site: Site, path: Path, texts: list[str]) -> Answered:
    contents = Contents(site.models)
    return ask(contents, path, contents.sha256(path), texts, lambda fact: None)


@pytest.mark.parametrize("head", ["embedding", "sequence", "tokens"])
def test_the_digest_is_of_all_numbers(head: str, site: Site, tmp_path: Path) -> None:
    path = made(site, tmp_path, head)
    model = engine.load(path)
    numbers = {
        "embedding": lambda: model.embed(TEXTS),
        "sequence": lambda: model.classify(TEXTS),
        "tokens": lambda: np.concatenate([shares.ravel() for _, shares in model.tag(TEXTS)]),
    }[head]()
    expected = hashlib.sha256(np.asarray(numbers, "<f4").tobytes()).hexdigest()
    assert asked(site, path, TEXTS) == Answered(expected)
    assert asked(site, path, TEXTS[::-1]) != Answered(expected)
    assert asked(site, made(site, tmp_path, head, seed=6), TEXTS) != Answered(expected)


def test_a_model_that_needs_a_question_is_asked_nothing_and_it_is_said(site: Site, tmp_path: Path) -> None:
    answered = asked(site, made(site, tmp_path, "span"), TEXTS)
    assert (answered.answers_sha256, answered.why) == (None, "it answers questions about a text only")


def test_a_file_that_was_replaced_meanwhile_is_refused(site: Site, tmp_path: Path) -> None:
    path = made(site, tmp_path, "embedding")
    with pytest.raises(ModelRefusedError, match="was replaced while it was looked at"):
        ask(Contents(site.models), path, "0" * 64, TEXTS, lambda fact: None)
    head, contents = site.models / "sort.head", Contents(site.models)
    write_head(head, HeadFile({"kind": "rank"}, {}))
    sha256 = contents.sha256(head)
    write_head(head, HeadFile({"kind": "rank", "after": 1}, {}))
    with pytest.raises(ModelRefusedError, match="was replaced while it was looked at"):
        ask(contents, head, sha256, TEXTS, lambda fact: None)


def test_a_head_of_another_task_or_without_its_model_is_told(site: Site) -> None:
    path = site.models / "other.head"
    write_head(path, HeadFile({"kind": "rank"}, {"weights": np.zeros(2, np.float32)}))
    assert asked(site, path, TEXTS).why == "heads for the task rank are asked with their job only"
    write_head(path, HeadFile({"kind": "classify"}, {"weights": np.zeros(2, np.float32)}))
    with pytest.raises(ModelRefusedError, match="is no head that can be used"):
        asked(site, path, TEXTS)


def test_texts_are_found_by_their_digest_alone(site: Site) -> None:
    golden = Golden(("ä", "b\n"))
    assert kept_golden(site, golden.sha256) is None
    keep_golden(site, golden)
    assert kept_golden(site, golden.sha256) == golden
    path = site.models / "golden" / f"{golden.sha256}.json"
    path.write_bytes(path.read_bytes().replace(b"b", b"c"))
    assert kept_golden(site, golden.sha256) is None
    assert kept_golden(site, Golden(BUILT_IN).sha256) == Golden(BUILT_IN), "these need no file"
    with pytest.raises(ModelRefusedError, match="1,001 golden texts; at most 1,000"):
        check_count(["x"] * 1001)


def test_files_are_found_by_name_and_by_bytes(site: Site) -> None:
    site.models.mkdir()
    for name in ("a.gguf", "both.gguf", "both.head", "b.head"):
        (site.models / name).write_bytes(name[:1].encode())
    assert find_file(site.models, "a").name == "a.gguf"
    assert find_file(site.models, "b").name == "b.head"
    with pytest.raises(ModelRefusedError, match=r"is a model and a head; write both.gguf or both.head"):
        find_file(site.models, "both")
    assert find_file(site.models, "both.head").name == "both.head"
    for outside in ("../models/a.gguf", "/etc/passwd", "", "."):
        with pytest.raises(ModelRefusedError, match="there is no model or head"):
            find_file(site.models, outside)
    packaged = find_file(site.models, "contracts")
    assert (packaged.parent, find_file(site.models, "contracts.head")) == (BUILTIN, packaged)
    assert Contents(site.models).find(file_sha256(packaged), "contracts.head") == packaged
    contents, of_b = Contents(site.models), hashlib.sha256(b"b").hexdigest()
    found = [contents.find(of_b, name) for name in ("b.head", "gone.head", "gone.gguf", "both.gguf")]
    names = [path.name if path else None for path in found]
    assert names == ["b.head", "b.head", "both.gguf", "both.gguf"]
    assert contents.find("0" * 64, "a.gguf") is None
