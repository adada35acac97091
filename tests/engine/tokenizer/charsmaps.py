"""Precompiled character maps, made from a dictionary, for the tests and the makers of tables.

Source of the format: SentencePiece's `normalizer.cc` and darts-clone: the length of a double-array trie in bytes, its
units (32 bits each, little endian), then the replacements as UTF-8, each ended by a zero byte. Here every node of the
trie has a block of 256 units of its own, which is large but obviously right.
"""

import struct
from typing import Any

BLOCK = 256
HAS_LEAF = 1 << 8


def charsmap(replacements: dict[str, str]) -> bytes:
    """Replacement of each key. Up to some thousands of different beginnings of keys."""
    pool, root = b"", {}
    for key, value in replacements.items():
        node: dict[Any, Any] = root
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = len(pool)
        pool += value.encode() + b"\0"
    units: list[int] = [0] * BLOCK
    units[0] = BLOCK << 10  # the root's block begins at unit 256
    _place(root, units)
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + pool


def _place(node: dict[Any, Any], units: list[int]) -> int:
    base = len(units)
    units.extend([0] * BLOCK)
    for byte, child in node.items():
        if byte is None:
            units[base] = child | 1 << 31
        else:
            leaf = HAS_LEAF if None in child else 0
            units[base + byte] = (base + byte ^ _place(child, units)) << 10 | leaf | byte
    return base
