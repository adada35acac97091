"""Loops that are written as LLVM code: products of register tiles and of AMX tiles, each one operation for a kernel."""

from engine.simd.amx import (
    clear_tiles,
    keep_four,
    keep_six,
    multiply_narrow,
    multiply_small,
    multiply_wide,
    start_tiles,
    stop_tiles,
)
from engine.simd.amx_group import ALL, BEGIN, CONTINUE, END, NOTHING, amx_group
from engine.simd.coded_tiles import coded_tile, digits
from engine.simd.codes import EIGHT, FLOAT
from engine.simd.operands import CHUNK, ROW_TOP, SMALL_TOP, TOP, operands
from engine.simd.run_tiles import run_tile
from engine.simd.tiles import float_tile, pair_tile, pair_tiles

__all__ = [
    "ALL",
    "BEGIN",
    "CHUNK",
    "CONTINUE",
    "EIGHT",
    "END",
    "FLOAT",
    "NOTHING",
    "ROW_TOP",
    "SMALL_TOP",
    "TOP",
    "amx_group",
    "clear_tiles",
    "coded_tile",
    "digits",
    "float_tile",
    "keep_four",
    "keep_six",
    "multiply_narrow",
    "multiply_small",
    "multiply_wide",
    "operands",
    "pair_tile",
    "pair_tiles",
    "run_tile",
    "start_tiles",
    "stop_tiles",
]  # fmt: skip
