"""Each quantization type against the `gguf` package, bit for bit, and against its own definition."""

import numpy as np
import pytest
from gguf import GGMLQuantizationType, quants
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from engine.errors import UnsupportedModel
from engine.gguf import BLOCKS, GgmlType, Tensor
from engine.quant import TYPES, to_float32

KINDS = sorted(TYPES)
every_type = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def rows(scale: float, seed: int = 0) -> np.ndarray:
    """[64, 96] with zeros, equal values, one large value, halves and negative zeros among them."""
    values = np.random.default_rng(seed).standard_normal((64, 96)).astype(np.float32) * np.float32(scale)
    values[0] = 0
    values[1] = scale
    values[2, 5] = 1000 * scale
    values[3, :32] = (np.arange(-16, 16) + 0.5) * scale
    values[3, 0] = 127 * scale
    values[4, ::2] = -0.0
    return values


@every_type
def test_layout_is_the_tables(kind: GgmlType) -> None:
    layout = TYPES[kind].BLOCK_VALUES, TYPES[kind].BLOCK_BYTES
    assert layout == BLOCKS[kind]


@every_type
@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e-4, 0.02, 1, 60], ids=str)
def test_same_bits_as_the_gguf_package(kind: GgmlType, scale: float) -> None:
    values = rows(scale)
    ours = TYPES[kind].quantize(values)
    theirs = quants.quantize(values, GGMLQuantizationType(kind)).view(np.uint8)
    wrong = np.argwhere((ours != theirs).reshape(-1, BLOCKS[kind].bytes).any(axis=1))
    assert not len(wrong), f"block {wrong[0]}"
    back = TYPES[kind].dequantize(ours)
    assert back.dtype == np.float32
    assert back.shape == values.shape
    assert np.array_equal(back.view(np.uint32), quants.dequantize(theirs, GGMLQuantizationType(kind)).view(np.uint32))


@every_type
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_bytes_mean_what_they_mean_to_the_gguf_package(kind: GgmlType, data: st.DataObject) -> None:
    size = 3 * BLOCKS[kind].bytes
    raw = data.draw(arrays.arrays(np.uint8, size))
    with np.errstate(invalid="ignore"):
        theirs = quants.dequantize(raw, GGMLQuantizationType(kind))
        assert np.array_equal(TYPES[kind].dequantize(raw), theirs, equal_nan=True)


@every_type
@settings(max_examples=100, deadline=None)
@given(values=arrays.arrays(np.float32, 64, elements=st.floats(-60000, 60000, width=32, allow_subnormal=False)))
def test_any_values_get_the_bits_of_the_gguf_package(kind: GgmlType, values: np.ndarray) -> None:
    values[np.abs(values) < 1e-35] = 0  # below, the package divides by a scale whose inverse is infinite
    theirs = quants.quantize(values, GGMLQuantizationType(kind)).view(np.uint8)
    assert np.array_equal(TYPES[kind].quantize(values), theirs)


def test_q8_0_by_its_definition() -> None:
    values = rows(1)
    blocks = TYPES[GgmlType.Q8_0].quantize(values).reshape(-1, 34)
    for block, given_values in zip(blocks, values.reshape(-1, 32), strict=True):
        scale = block[:2].view(np.float16)[0]
        assert scale == np.float16(np.abs(given_values).max() / np.float32(127))
        error = np.abs(block[2:].view(np.int8) * np.float64(scale) - given_values).max()
        assert error <= 0.57 * scale  # half a step, and 127 steps of a scale that is off by 2^-11 at most


def test_q8_0_of_values_below_every_scale_is_zero() -> None:
    assert not TYPES[GgmlType.Q8_0].quantize(np.full(32, 1e-42, np.float32)).any()


def test_too_large_becomes_infinite_without_a_warning() -> None:
    assert np.isinf(TYPES[GgmlType.F16].dequantize(TYPES[GgmlType.F16].quantize(np.full(32, 1e6, np.float32)))).all()
    assert np.isinf(TYPES[GgmlType.Q8_0].dequantize(TYPES[GgmlType.Q8_0].quantize(np.full(32, 1e8, np.float32)))).all()


def test_to_float32_has_the_tensors_shape() -> None:
    values = rows(1)[:2, :64]
    tensor = Tensor("t", GgmlType.Q8_0, (2, 64), TYPES[GgmlType.Q8_0].quantize(values).reshape(-1))
    assert np.array_equal(to_float32(tensor), TYPES[GgmlType.Q8_0].dequantize(tensor.data).reshape(2, 64))
    assert np.abs(to_float32(tensor) - values).max() < 0.02


def test_other_types_are_refused() -> None:
    with pytest.raises(UnsupportedModel, match="tensor 't': found type Q4_K, expected one of F32, F16, Q8_0"):
        to_float32(Tensor("t", GgmlType.Q4_K, (256,), np.zeros(144, np.uint8)))
