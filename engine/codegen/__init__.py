"""Loops that are written as LLVM code: products of register tiles and of AMX tiles, each one operation for a kernel."""

from engine.codegen.amx import (
    clear_tiles,
    keep_four,
    keep_six,
    multiply_small,
    multiply_wide,
    start_tiles,
    stop_tiles,
)
from engine.codegen.amx_group import ALL, ALL_ADD, BEGIN, CONTINUE, END, END_ADD, NOTHING, Finish, Products, amx_group
from engine.codegen.int8_layout import EIGHT, FLOAT
from engine.codegen.int8_tile import digits, int8_tile
from engine.codegen.operands import CHUNK, ROW_TOP, SMALL_TOP, TOP, store_digits, store_pairs
from engine.codegen.sub_block_tile import sub_block_tile
from engine.codegen.tiles import float_tile, pair_tiles

__all__ = [
    "ALL",
    "ALL_ADD",
    "BEGIN",
    "CHUNK",
    "CONTINUE",
    "EIGHT",
    "END",
    "END_ADD",
    "FLOAT",
    "NOTHING",
    "ROW_TOP",
    "SMALL_TOP",
    "TOP",
    "Finish",
    "Products",
    "amx_group",
    "clear_tiles",
    "digits",
    "float_tile",
    "int8_tile",
    "keep_four",
    "keep_six",
    "multiply_small",
    "multiply_wide",
    "pair_tiles",
    "start_tiles",
    "stop_tiles",
    "store_digits",
    "store_pairs",
    "sub_block_tile",
]  # fmt: skip
