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
    """Type number of a metadata value, and numpy's name of it where it has a fixed size; a bool is one byte, 0 or 1."""

    _value_: int
    numpy: str

    def __new__(cls, number: int, numpy: str = "") -> "ValueType":
        member = int.__new__(cls, number)
        member._value_, member.numpy = number, numpy
        return member

    UINT8 = 0, "<u1"
    INT8 = 1, "<i1"
    UINT16 = 2, "<u2"
    INT16 = 3, "<i2"
    UINT32 = 4, "<u4"
    INT32 = 5, "<i4"
    FLOAT32 = 6, "<f4"
    BOOL = 7, "|b1"
    STRING = 8
    ARRAY = 9
    UINT64 = 10, "<u8"
    INT64 = 11, "<i8"
    FLOAT64 = 12, "<f8"


NUMPY = {kind: kind.numpy for kind in ValueType if kind.numpy}


class Block(NamedTuple):
    """How many values one block of a tensor type holds, and in how many bytes."""

    values: int
    bytes: int


class GgmlType(IntEnum):
    """Type number of a tensor, and the values and bytes of its block; the gaps are types that ggml has removed."""

    _value_: int
    block: Block

    def __new__(cls, number: int, *block: int) -> "GgmlType":
        member = int.__new__(cls, number)
        member._value_, member.block = number, Block(*block)
        return member

    F32 = 0, 1, 4
    F16 = 1, 1, 2
    Q4_0 = 2, 32, 18
    Q4_1 = 3, 32, 20
    Q5_0 = 6, 32, 22
    Q5_1 = 7, 32, 24
    Q8_0 = 8, 32, 34
    Q8_1 = 9, 32, 36
    Q2_K = 10, 256, 84
    Q3_K = 11, 256, 110
    Q4_K = 12, 256, 144
    Q5_K = 13, 256, 176
    Q6_K = 14, 256, 210
    Q8_K = 15, 256, 292
    IQ2_XXS = 16, 256, 66
    IQ2_XS = 17, 256, 74
    IQ3_XXS = 18, 256, 98
    IQ1_S = 19, 256, 50
    IQ4_NL = 20, 32, 18
    IQ3_S = 21, 256, 110
    IQ2_S = 22, 256, 82
    IQ4_XS = 23, 256, 136
    I8 = 24, 1, 1
    I16 = 25, 1, 2
    I32 = 26, 1, 4
    I64 = 27, 1, 8
    F64 = 28, 1, 8
    IQ1_M = 29, 256, 56
    BF16 = 30, 1, 2
    TQ1_0 = 34, 256, 54
    TQ2_0 = 35, 256, 66
    MXFP4 = 39, 32, 17
    NVFP4 = 40, 64, 36
    Q1_0 = 41, 128, 18


BLOCKS = {kind: kind.block for kind in GgmlType}
