"""Each quantization type against the `gguf` package, bit for bit, and against its own definition."""

from collections.abc import Iterator

import numpy as np
import pytest
from gguf import GGMLQuantizationType, quants
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from engine.errors import UnsupportedModel
from engine.gguf import BLOCKS, GgmlType, Tensor
from engine.quant import TYPES, is_finite, to_float32

# types of this project that ggml does not have: what compares with ggml leaves them out
OWN: frozenset[GgmlType] = frozenset()
KINDS = sorted(TYPES.keys() - OWN)
every_type = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
# those whose quantizer searches nothing: what it makes is defined
DEFINED = (GgmlType.F32, GgmlType.F16, GgmlType.BF16, GgmlType.Q8_0)
defined_type = pytest.mark.parametrize("kind", DEFINED, ids=lambda kind: kind.name)
# float16: zeros, least and greatest subnormals, normals and infinities of both signs, NaN
HALVES = (0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x7C01)


def rows(scale: float, seed: int = 0) -> np.ndarray:
    """[64, 768] with zeros, equal values, one large value, halves and negative zeros among them."""
    values = np.random.default_rng(seed).standard_normal((64, 768)).astype(np.float32) * np.float32(scale)
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


@defined_type
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
    check_meaning(kind, raw)


def check_meaning(kind: GgmlType, raw: np.ndarray) -> None:
    """The same bits, but for those of a NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        theirs = quants.dequantize(raw, GGMLQuantizationType(kind))
    ours = TYPES[kind].dequantize(raw)
    assert ours.shape == theirs.shape
    assert np.array_equal(np.isnan(ours), np.isnan(theirs))
    numbers = ~np.isnan(ours)
    wrong = np.flatnonzero(ours[numbers].view(np.uint32) != theirs[numbers].view(np.uint32))
    assert not len(wrong), f"value {wrong[0]}"


@every_type
def test_random_blocks_mean_what_they_mean_to_the_gguf_package(kind: GgmlType) -> None:
    check_meaning(kind, np.random.default_rng(kind).integers(0, 256, (40, 50 * BLOCKS[kind].bytes), np.uint8))


@every_type
def test_every_half_as_a_scale(kind: GgmlType) -> None:
    """Each of HALVES at each place of a block where a float16 may lie."""
    size = BLOCKS[kind].bytes
    raw = np.random.default_rng(kind).integers(0, 256, (len(HALVES), size // 2, size), np.uint8)
    for number, half in enumerate(HALVES):
        for at in range(size // 2):
            raw[number, at, 2 * at : 2 * at + 2] = half & 255, half >> 8
    check_meaning(kind, raw.reshape(-1, size))


@every_type
def test_a_slice_of_rows_and_a_read_only_view(kind: GgmlType) -> None:
    raw = np.random.default_rng(5).integers(0, 256, (6, 3 * BLOCKS[kind].bytes + 1), np.uint8)
    raw.flags.writeable = False
    whole = TYPES[kind].dequantize(raw[:, :-1])
    assert np.array_equal(TYPES[kind].dequantize(raw[2:4, :-1]), whole[2:4], equal_nan=True)


@defined_type
@settings(max_examples=100, deadline=None)
@given(values=arrays.arrays(np.float32, 256, elements=st.floats(-60000, 60000, width=32, allow_subnormal=False)))
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
    with pytest.raises(UnsupportedModel, match="tensor 't': found type IQ1_S, expected one of F32, F16, BF16, Q4_0"):
        to_float32(Tensor("t", GgmlType.IQ1_S, (256,), np.zeros(50, np.uint8)))


def test_bf16_keeps_nan_and_rounds_to_even() -> None:
    values = np.array([np.nan, -np.inf, 1 + 2**-8, 1 + 3 * 2**-8, -0.0], np.float32)
    back = TYPES[GgmlType.BF16].dequantize(TYPES[GgmlType.BF16].quantize(values))
    assert np.isnan(back[0])
    assert list(back[1:]) == [-np.inf, 1, 1 + 2**-6, 0]
    assert np.signbit(back[4])


@every_type
def test_shapes(kind: GgmlType) -> None:
    values = np.random.default_rng(1).standard_normal((2, 512)).astype(np.float32)
    data = TYPES[kind].quantize(values)
    assert data.dtype == np.uint8
    assert data.shape == (2, 512 // BLOCKS[kind].values * BLOCKS[kind].bytes)
    assert TYPES[kind].dequantize(data).shape == values.shape


@every_type
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf], ids=str)
def test_values_that_are_no_numbers_are_noticed(kind: GgmlType, bad: float) -> None:
    """In any scale of the first block of many, or of the last one."""
    block = TYPES[kind].quantize(np.ones(BLOCKS[kind].values, np.float32))
    data = np.tile(block, 70_000)
    assert is_finite(Tensor("t", kind, (70_000, BLOCKS[kind].values), data))
    for broken in broken_blocks(kind, block, np.float32(bad)):
        assert not np.isfinite(TYPES[kind].dequantize(broken)).all()
        for at in (0, data.size - broken.size):
            changed = data.copy()
            changed[at : at + broken.size] = broken
            assert not is_finite(Tensor("t", kind, (70_000, BLOCKS[kind].values), changed))


def broken_blocks(kind: GgmlType, block: np.ndarray, bad: np.float32) -> Iterator[np.ndarray]:
    if BLOCKS[kind].values == 1:
        yield TYPES[kind].quantize(np.full(1, bad, np.float32))
        return
    for field in {"d", "m", "dmin"} & set(TYPES[kind].LAYOUT.names or ()):
        changed = block.copy()
        changed.view(TYPES[kind].LAYOUT)[field] = bad
        yield changed
