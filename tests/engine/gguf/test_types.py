"""The table of tensor types against the one of the `gguf` package."""

from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType

from engine.gguf import BLOCKS, GgmlType
from engine.gguf.types import NUMPY, ValueType
from tests.engine.quant.test_types import OWN


def test_types_are_those_of_ggml() -> None:
    ours = set(GgmlType) - OWN
    assert {kind.name: kind.value for kind in ours} == {kind.name: kind.value for kind in GGMLQuantizationType}
    assert {kind.name: kind.value for kind in ValueType} == {kind.name: kind.value for kind in GGUFValueType}


def test_blocks_are_those_of_ggml() -> None:
    expected = {kind.name: size for kind, size in GGML_QUANT_SIZES.items()}
    expected["Q8_1"] = (32, 36)  # ggml's block_q8_1 holds two float16; the package still counts two float32
    assert {kind.name: tuple(block) for kind, block in BLOCKS.items() if kind not in OWN} == expected


def test_numpy_names_every_type_of_fixed_size() -> None:
    assert set(NUMPY) == set(ValueType) - {ValueType.STRING, ValueType.ARRAY}
