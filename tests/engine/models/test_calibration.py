"""What is found out about an encoder's activations: outliers are smoothed, and a second digit stays where it counts."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import gguf, models, tokenizer
from engine.gguf import GgmlType, TensorSource
from engine.models.calibration import LOSS, TEXTS
from engine.models.stored import Arrays
from engine.models.weights import STACKS
from engine.quant import to_float32
from engine.simd import JIT
from tests.engine.digests import environment
from tests.engine.isas import COMPARED, need
from tests.models import write_bert_folder

pytestmark = pytest.mark.skipif(not JIT, reason="takes minutes in plain Python, where test_identity.py looks at it")
OUTLIER, PLACE = 40, 5
Change = Callable[[np.ndarray], np.ndarray]


def arrays_of(path: Path) -> Arrays:
    """The arrays of a model, made anew, not those that were kept."""
    file = gguf.read(path)
    network, _ = models.load(file, tokenizer.from_metadata(file.metadata), lambda make: make())
    return network.arrays


def digits(arrays: Arrays) -> dict[str, int]:
    return {name: int(arrays[f"{name}.digits"][0]) for name in STACKS}


def digest(arrays: Arrays) -> str:
    """Of what was found out."""
    names = [f"{name}.{part}" for name in STACKS for part in ("inverses", "digits")]
    return hashlib.sha256(b"".join(arrays[name].tobytes() for name in names)).hexdigest()


def write(path: Path, file: gguf.GgufFile, changes: dict[str, Change]) -> Path:
    """A file whose tensors with these last parts of a name are changed."""

    def source(tensor: gguf.Tensor) -> TensorSource:
        change = next((changes[end] for end in changes if tensor.name.endswith(end)), None)
        if change is None:
            return TensorSource(tensor.name, tensor.type, tensor.shape, lambda: [tensor.data])
        values = change(to_float32(tensor)).astype(np.float32).reshape(-1)
        return TensorSource(tensor.name, GgmlType.F32, tensor.shape, lambda: [values.view(np.uint8)])

    gguf.write(path, file.metadata, list(map(source, file.tensors.values())))
    return path


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of float32, with nothing uncommon."""
    folder = tmp_path_factory.mktemp("calibration")
    engine.import_model(write_bert_folder(folder / "hf"), folder / "f32.gguf", file_type="f32", name="m")
    return folder / "f32.gguf"


def at(places: Iterable[int], value: float) -> Change:
    """Change some places of a vector, or columns of a matrix."""

    def change(values: np.ndarray) -> np.ndarray:
        changed = values.copy()
        changed[..., list(places)] = value
        return changed

    return change


def rounded(exact: Path, path: Path, changes: dict[str, Change]) -> tuple[Path, Path]:
    """The model with these changes, of float32, and of integers."""
    changed = write(path.with_suffix(".f32.gguf"), gguf.read(exact), changes)
    engine.quantize_model(changed, path, mix="q8_0")
    return changed, path


def far(first: Path, second: Path) -> float:
    """1 minus the mean cosine of the vectors that two models make."""
    a, b = (engine.load(path).embed(list(TEXTS[:6])) for path in (first, second))
    return 1 - float((a.astype(np.float64) * b).sum(1).mean())


OUTLIERS = {end: at([PLACE], OUTLIER) for end in ("token_embd_norm.weight", "output_norm.weight")}


def test_an_ordinary_model_has_one_digit_and_gains_nothing_by_smoothing(exact: Path, tmp_path: Path) -> None:
    changed, path = rounded(exact, tmp_path / "m.gguf", {})
    found = arrays_of(path)
    assert digits(found) == dict.fromkeys(STACKS, 1)
    assert all((found[f"{name}.inverses"] == 1).all() for name in STACKS)
    assert far(changed, path) < 5 * LOSS


def test_an_outlier_of_the_vectors_of_tokens_becomes_smaller(exact: Path, tmp_path: Path) -> None:
    changed, path = rounded(exact, tmp_path / "m.gguf", OUTLIERS)
    found = arrays_of(path)
    for name in ("qk", "v", "up"):
        for inverses in found[f"{name}.inverses"].reshape(2, -1):
            assert inverses[PLACE] * OUTLIER**0.5 < 1.5 * np.median(inverses)  # so much greater it was, or more
    assert np.array_equal(found["qk.inverses"], found["v.inverses"])
    assert (found["out.inverses"] == 1).all()
    assert (found["down.inverses"] == 1).all()
    assert far(changed, path) < 5 * LOSS


def test_what_goes_into_the_first_layer_is_seen(exact: Path, tmp_path: Path) -> None:
    """c = sqrt(greatest magnitude of the values / greatest magnitude of the weights), from the file itself."""
    _, path = rounded(exact, tmp_path / "m.gguf", OUTLIERS)
    file = gguf.read(path)
    words, w = tokenizer.from_metadata(file.metadata), {name: to_float32(t) for name, t in file.tensors.items()}
    greatest = np.zeros(64)
    for ids in words.encode_many(TEXTS):
        ids = ids[:128]
        x = (w["token_embd.weight"][ids] + w["position_embd.weight"][: ids.size] + w["token_types.weight"][0]).astype(
            "f8"
        )
        x = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
        x = x * w["token_embd_norm.weight"] + w["token_embd_norm.bias"]
        greatest = np.maximum(greatest, np.abs(x).max(0))
    weights = np.concatenate([w[f"blk.0.attn_{part}.weight"] for part in "qkv"])
    expected = np.sqrt(np.abs(weights).max(0) / greatest)
    assert np.allclose(arrays_of(path)["qk.inverses"][:64], expected, rtol=1e-4)


def test_a_second_digit_stays_where_one_would_lose_too_much(exact: Path, tmp_path: Path) -> None:
    """One value inside the feed-forward part is great in every group, and weighs nothing: with one digit there would be
    nothing left of its neighbours, nor of what they say."""
    places = [PLACE, 64 + PLACE]
    norms = {"ffn_up.bias": at(places, 1000), "ffn_down.weight": at(places, 0)}
    changed, path = rounded(exact, tmp_path / "m.gguf", norms)
    assert digits(arrays_of(path)) == dict.fromkeys(STACKS, 1) | {"down": 2}
    assert far(changed, path) < 5 * LOSS
    model = engine.load(path)
    expected = model.embed(list(TEXTS[:6])).astype(np.float64)
    model._network.arrays["down.digits"] = np.array([1], np.int8)
    del model._network.weights  # those of the two digits
    assert 1 - (expected * model.embed(list(TEXTS[:6]))).sum(1).mean() > LOSS


def test_float32_stays_as_it_is(exact: Path) -> None:
    found = arrays_of(exact)
    assert digits(found) == dict.fromkeys(STACKS, 2)
    assert all((found[f"{name}.inverses"] == 1).all() for name in STACKS)
    assert not any(found[f"{name}.weights"].size for name in STACKS)


def test_matrices_of_float32_beside_others_stay_as_they_are(exact: Path, tmp_path: Path) -> None:
    _, path = rounded(exact, tmp_path / "q.gguf", OUTLIERS)
    mixed = write(tmp_path / "m.gguf", gguf.read(path), {"ffn_up.weight": lambda values: values})
    found, others = arrays_of(mixed), arrays_of(path)
    assert digits(found)["up"] == 2
    assert (found["up.inverses"] == 1).all()
    assert (found["qk.inverses"] != 1).any()
    assert found["up.floats"].size > 0 == others["up.floats"].size


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(exact: Path, tmp_path: Path, value: float) -> None:
    broken = write(tmp_path / "m.gguf", gguf.read(exact), {"blk.1.ffn_up.bias": at([3], value)})
    with pytest.raises(engine.BadModelFile, match=r"blk\.1\.ffn_up\.bias holds values that are not finite"):
        arrays_of(broken)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("token_embd_norm.weight", lambda values: values * 0 + np.float32(3e38)),
        ("attn_q.weight", lambda values: values * np.float32(1e-38)),
        ("ffn_up.weight", lambda values: values * 0),
        ("token_embd_norm.weight", lambda values: values * np.float32(1e-38)),
    ],
    ids=["greatest values", "least weights", "no weights", "least values"],
)
def test_factors_are_numbers_whatever_is_seen(exact: Path, tmp_path: Path, name: str, change: Change) -> None:
    """Values and weights at the ends of float32, without a warning."""
    _, path = rounded(exact, tmp_path / "m.gguf", {name: change})
    found = arrays_of(path)
    for stack in STACKS:
        assert np.isfinite(found[f"{stack}.inverses"]).all()
        assert (found[f"{stack}.inverses"] > 0).all()


def main(path: str) -> None:
    """Print what was found out, for another process."""
    found = arrays_of(Path(path))
    print(json.dumps([engine.isa(), digits(found), digest(found)]))


@pytest.mark.parametrize("isa", COMPARED)
def test_every_instruction_set_finds_the_same(exact: Path, tmp_path: Path, isa: str) -> None:
    need(isa)
    _, path = rounded(exact, tmp_path / "m.gguf", {"ffn_up.bias": at([PLACE], 1000), "ffn_down.weight": at([PLACE], 0)})
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.models.test_calibration", path], text=True, check=True,
        stdout=subprocess.PIPE, env=environment(CLOISTER_ISA=isa), cwd=Path(__file__).parents[3],
    )  # fmt: skip
    here = arrays_of(path)
    assert json.loads(done.stdout) == [isa, digits(here), digest(here)]
    assert digits(here)["down"] == 2


if __name__ == "__main__":
    main(sys.argv[1])
