"""The quantizers that search: no worse than ggml, better than the largest value as scale, the same bytes everywhere."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, quants

import engine
from engine.gguf import GgmlType
from engine.quant import TYPES
from tests.engine.digests import environment
from tests.engine.isas import need
from tests.engine.quant.tensors import NAMES, errors, ggml, tensor
from tests.engine.quant.test_types import DEFINED, OWN
from tests.thorough import ALL

RECORDED = json.loads((Path(__file__).parents[2] / "golden" / "ggml_errors.json").read_text())
SEARCHED = sorted(TYPES.keys() - OWN - set(DEFINED))
searched = pytest.mark.parametrize("kind", SEARCHED, ids=lambda kind: kind.name)


def ours(kind: GgmlType, values: np.ndarray) -> tuple[float, float]:
    return errors(values, TYPES[kind].dequantize(TYPES[kind].quantize(values)))


@searched
@pytest.mark.parametrize("name", NAMES)
def test_no_worse_than_ggmls_recorded_errors(kind: GgmlType, name: str) -> None:
    for found, recorded in zip(ours(kind, tensor(name)), RECORDED[kind.name][name], strict=True):
        assert found <= recorded


@searched
def test_no_worse_than_ggml(kind: GgmlType) -> None:
    quantize = ggml()
    for name in NAMES:
        values = tensor(name)
        theirs = errors(values, quants.dequantize(quantize(kind, values), GGMLQuantizationType(kind)))
        assert theirs == pytest.approx(RECORDED[kind.name][name], rel=1e-3), "what is recorded"
        assert all(a <= b for a, b in zip(ours(kind, values), theirs, strict=True))


@pytest.mark.parametrize("kind", [GgmlType.Q4_0, GgmlType.Q4_1, GgmlType.Q5_0, GgmlType.Q5_1], ids=lambda k: k.name)
@pytest.mark.parametrize("name", NAMES)
def test_better_than_the_scale_of_the_largest_value(kind: GgmlType, name: str) -> None:
    values = tensor(name)
    simple = quants.quantize(values, GGMLQuantizationType(kind))
    simple_error = errors(values, quants.dequantize(simple, GGMLQuantizationType(kind)))
    assert all(a < 0.98 * b for a, b in zip(ours(kind, values), simple_error, strict=True))


# largest error of any value, in parts of the largest value of its block
BOUNDS = {
    "Q4_0": 0.12, "Q4_1": 0.11, "Q5_0": 0.05, "Q5_1": 0.05, "Q2_K": 0.37, "Q3_K": 0.2, "Q4_K": 0.1, "Q5_K": 0.05,
    "Q6_K": 0.02, "IQ4_NL": 0.13, "IQ4_XS": 0.1,
}  # fmt: skip


@searched
def test_no_value_is_far_off(kind: GgmlType) -> None:
    values = tensor("normal")
    back = TYPES[kind].dequantize(TYPES[kind].quantize(values))
    size = TYPES[kind].BLOCK_VALUES
    worst = np.abs(back - values).reshape(-1, size).max(axis=1) / np.abs(values).reshape(-1, size).max(axis=1)
    assert worst.max() < BOUNDS[kind.name]


@searched
def test_odd_blocks(kind: GgmlType) -> None:
    """Zeros, one value, equal values, two values, what float16 cannot hold, its largest: finite, and near."""
    values = np.zeros((9, 256), np.float32)
    values[1, 7] = -3
    values[2], values[3] = 0.5, -0.5
    values[4, ::2], values[4, 1::2] = -1, 1
    values[5] = 1e-12
    values[6] = np.linspace(-1e-42, 1e-42, 256)
    values[7] = np.linspace(-65504, 65504, 256)
    values[8] = np.linspace(1, 2, 256)
    back = TYPES[kind].dequantize(TYPES[kind].quantize(values))
    assert np.isfinite(back).all()
    assert not back[0].any()
    assert (np.abs(back - values).max(axis=1) <= 0.1 * np.abs(values).max(axis=1) + 1e-7).all()


@searched
def test_whole_codes_come_back(kind: GgmlType) -> None:
    """What a type can hold exactly it should hold (nearly) exactly."""
    whole = TYPES[kind].dequantize(TYPES[kind].quantize(tensor("normal")))
    again = TYPES[kind].dequantize(TYPES[kind].quantize(whole))
    assert errors(whole, again)[0] < 0.2 * errors(tensor("normal"), whole)[0]


@searched
def test_a_row_does_not_depend_on_others(kind: GgmlType) -> None:
    values = tensor("heavy", (21, 512))
    together = TYPES[kind].quantize(values)
    for at in (0, 7, 20):
        assert np.array_equal(TYPES[kind].quantize(values[at]), together[at])
    assert np.array_equal(TYPES[kind].quantize(values.reshape(3, 7, 512)), together.reshape(3, 7, -1))


@pytest.mark.skipif(not ALL, reason="compiles for the other instruction sets")
@pytest.mark.parametrize("isa", ["avx2", "avx512_vnni", "portable"])
def test_the_same_bytes_on_every_instruction_set(isa: str) -> None:
    need(isa)
    if engine.isa() == isa:
        pytest.skip("this is what all are compared with")
    assert digests("heavy", "tiny", CLOISTER_ISA=isa) == default_digests()


def test_the_same_bytes_as_plain_python() -> None:
    assert digests("heavy", NUMBA_DISABLE_JIT="1") == default_digests()[:1]


@functools.cache
def default_digests() -> list[str]:
    return digests("heavy", "tiny")


def digests(*names: str, **settings: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.quant.tensors", *names], env=environment(**settings), text=True,
        cwd=Path(__file__).parents[3], stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    return done.stdout.split()
