"""The numbers of the GGUF format as data: value types of the metadata, tensor types and their blocks.

Source: ggml's `docs/gguf.md` and `ggml.h`. A tensor type stores its values in blocks; a row of a tensor is a whole
number of blocks. Every type that ggml defines today is listed, so that any sound file can be inspected; which of them
can be computed is said by `engine.quant.TYPES`.
"""

from enum import IntEnum
from typing import NamedTuple

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32


class ValueType(IntEnum):
    """Type number of a metadata value."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


# numpy's name of each value type that has a fixed size; a bool is one byte, 0 or 1
NUMPY: dict[ValueType, str] = {
    ValueType.UINT8: "<u1",
    ValueType.INT8: "<i1",
    ValueType.UINT16: "<u2",
    ValueType.INT16: "<i2",
    ValueType.UINT32: "<u4",
    ValueType.INT32: "<i4",
    ValueType.FLOAT32: "<f4",
    ValueType.BOOL: "|b1",
    ValueType.UINT64: "<u8",
    ValueType.INT64: "<i8",
    ValueType.FLOAT64: "<f8",
}


class GgmlType(IntEnum):
    """Type number of a tensor; the gaps are types that ggml has removed."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q8_1 = 9
    Q2_K = 10
    Q3_K = 11
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    Q8_K = 15
    IQ2_XXS = 16
    IQ2_XS = 17
    IQ3_XXS = 18
    IQ1_S = 19
    IQ4_NL = 20
    IQ3_S = 21
    IQ2_S = 22
    IQ4_XS = 23
    I8 = 24
    I16 = 25
    I32 = 26
    I64 = 27
    F64 = 28
    IQ1_M = 29
    BF16 = 30
    TQ1_0 = 34
    TQ2_0 = 35
    MXFP4 = 39
    NVFP4 = 40
    Q1_0 = 41


class Block(NamedTuple):
    """How many values one block of a tensor type holds, and in how many bytes."""

    values: int
    bytes: int


BLOCKS: dict[GgmlType, Block] = {
    GgmlType.F32: Block(1, 4),
    GgmlType.F16: Block(1, 2),
    GgmlType.Q4_0: Block(32, 18),
    GgmlType.Q4_1: Block(32, 20),
    GgmlType.Q5_0: Block(32, 22),
    GgmlType.Q5_1: Block(32, 24),
    GgmlType.Q8_0: Block(32, 34),
    GgmlType.Q8_1: Block(32, 36),
    GgmlType.Q2_K: Block(256, 84),
    GgmlType.Q3_K: Block(256, 110),
    GgmlType.Q4_K: Block(256, 144),
    GgmlType.Q5_K: Block(256, 176),
    GgmlType.Q6_K: Block(256, 210),
    GgmlType.Q8_K: Block(256, 292),
    GgmlType.IQ2_XXS: Block(256, 66),
    GgmlType.IQ2_XS: Block(256, 74),
    GgmlType.IQ3_XXS: Block(256, 98),
    GgmlType.IQ1_S: Block(256, 50),
    GgmlType.IQ4_NL: Block(32, 18),
    GgmlType.IQ3_S: Block(256, 110),
    GgmlType.IQ2_S: Block(256, 82),
    GgmlType.IQ4_XS: Block(256, 136),
    GgmlType.I8: Block(1, 1),
    GgmlType.I16: Block(1, 2),
    GgmlType.I32: Block(1, 4),
    GgmlType.I64: Block(1, 8),
    GgmlType.F64: Block(1, 8),
    GgmlType.IQ1_M: Block(256, 56),
    GgmlType.BF16: Block(1, 2),
    GgmlType.TQ1_0: Block(256, 54),
    GgmlType.TQ2_0: Block(256, 66),
    GgmlType.MXFP4: Block(32, 17),
    GgmlType.NVFP4: Block(64, 36),
    GgmlType.Q1_0: Block(128, 18),
}
