"""Work of known cost: it can be done any number of times, and its cost is counted right."""

from pathlib import Path

import numpy as np
import pytest

import engine
from engine import bench
from engine.kernels.matmul import ISA
from engine.kernels.matmul.encoder import LAYOUT


@pytest.fixture(scope="module")
def model(tiny_model: Path) -> engine.Model:
    return engine.load(tiny_model)


def test_everything_can_be_done_again_and_again(model: engine.Model) -> None:
    works = [bench.peak(), bench.reading(2**12), *bench.passes(model, 40)]
    for work in works:
        work.run(1)
        work.run(2)
    assert [work.name for work in works] == ["peak", "reading", "forward pass", *bench.PARTS]


def test_the_cost_of_a_pass(model: engine.Model) -> None:
    """2 layers, width 64, inner width 128, 2 heads."""
    tokens = 48  # a multiple of the rows of a tile of AMX
    whole, *parts = bench.passes(model, tokens)
    cost = {work.name: work for work in parts}
    assert cost["queries, keys, values"].multiply_adds == 2 * tokens * 64 * 192
    assert cost["attention output"].multiply_adds == 2 * tokens * 64 * 64
    assert cost["FFN up"].multiply_adds == cost["FFN down"].multiply_adds == 2 * tokens * 64 * 128
    assert cost["attention"].multiply_adds == 2 * 2 * tokens**2 * 64
    matrices = cost["all matrix products"]
    assert matrices.multiply_adds == 2 * tokens * 64 * (192 + 64 + 128 + 128)
    assert whole.multiply_adds == matrices.multiply_adds + cost["attention"].multiply_adds
    assert whole.executed == matrices.executed + cost["attention"].executed
    sizes = {"qk": 128, "v": 64, "out": 64, "up": 128, "down": 128}
    digits = {name: int(model._network.arrays[f"{name}.digits"][0]) if LAYOUT == "bytes" else 1 for name in sizes}
    assert matrices.executed == 2 * tokens * 64 * sum(size * digits[name] for name, size in sizes.items())
    weights = 2 * 64 * (192 + 64 + 128 + 128)
    assert weights <= matrices.read_bytes <= 2.2 * weights  # int8 or int16, and their scales


def test_rows_that_a_tile_computes_in_vain_are_counted(model: engine.Model) -> None:
    few, many = (bench.passes(model, tokens)[1 + [*bench.PARTS].index("FFN up")] for tokens in (33, 48))
    assert few.multiply_adds == many.multiply_adds * 33 // 48
    assert few.executed == (many.executed if ISA == "amx" else many.executed * 33 // 48)


def test_float32_has_no_integer_products(tmp_path: Path) -> None:
    from tests.models import write_bert_folder

    folder = write_bert_folder(tmp_path / "hf")
    engine.import_model(folder, tmp_path / "f32.gguf", file_type="f32", name="f32")
    works = bench.passes(engine.load(tmp_path / "f32.gguf"), 8)
    assert {work.executed for work in works} == {0}
    works[-1].run(1)


def test_reading_reads_everything() -> None:
    data = np.arange(1024, dtype=np.int32)
    assert bench._read(data, 3) == 3 * data.sum()
