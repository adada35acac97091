"""A map of characters in SentencePiece's precompiled form, which GGUF files have.

Source of the form: SentencePiece's `normalizer.cc` and darts-clone. It is the length of a double-array trie in bytes,
its units (32 bits, little endian), then the replacements as UTF-8, each ended by a zero byte. The child of a node for a
byte is the unit `base ^ byte`, where `base` is the node's own; no two nodes have the same. A unit has its byte, and in
the bits from 10 on its distance (by xor) to its base; bit 8 says that a key ends here, whose value is in the unit at
the base, with bit 31.
"""

import struct
from collections.abc import Mapping
from typing import Any, Final

_LEAF: Final = 1 << 8
_VALUE: Final = 1 << 31
_SHIFT: Final = 10
_LOOKED_AT: Final = 64  # units before the last that was chosen, so that the time is linear
MAX_UNITS: Final = 1 << 21
"""As many as a distance of 22 bits less one can reach without a wider unit."""

Node = dict[int | None, Any]
"""Byte -> node; None -> the place of the replacement."""


def precompiled(replacements: Mapping[str, str]) -> bytes:
    """The map of these keys, each of which is replaced by a text; no key and no text has the character U+0000.
    ValueError for more than a double array of this form can hold."""
    pool, root = bytearray(), Node()
    for key in sorted(replacements):
        node = root
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = len(pool)
        pool += replacements[key].encode() + b"\0"
    units = _Units()
    units.place(root)
    return struct.pack(f"<I{len(units.words)}I", 4 * len(units.words), *units.words) + bytes(pool)


class _Units:
    """The units of a double array, filled first fit."""

    def __init__(self) -> None:
        self.words: list[int] = [0]
        self._taken, self._bases, self._first = {0}, set[int](), 1  # what is free before the last is not looked at

    def place(self, root: Node) -> None:
        """Put in a trie, level by level; its root is unit 0."""
        level = [(0, 0, root)]  # unit, its word without the distance, node
        while level:
            level = [child for at, word, node in level for child in self._put(at, word, node)]

    def _put(self, at: int, word: int, node: Node) -> list[tuple[int, int, Node]]:
        """Choose the base of a node, and give its children."""
        slots = [byte or 0 for byte in node]  # a value has the place of the byte 0, which is in no key
        base = self._base(slots)
        self.words[at] = (at ^ base) << _SHIFT | word
        children = []
        for byte, child in node.items():
            if byte is None:
                self._take(base)
                self.words[base] = child | _VALUE
            else:
                self._take(base ^ byte)
                children.append((base ^ byte, byte | _LEAF * (None in child), child))
        return children

    def _base(self, slots: list[int]) -> int:
        """The first base that no node has, and whose units for these slots are free."""
        unit = self._first
        while self._is_used(unit ^ slots[0], slots):
            unit += 1
        self._first = max(self._first, unit - _LOOKED_AT)
        base = unit ^ slots[0]
        if base >= MAX_UNITS - 256:
            raise ValueError(f"found more than {MAX_UNITS} units, expected a smaller map")
        self._bases.add(base)
        return base

    def _is_used(self, base: int, slots: list[int]) -> bool:
        return base in self._bases or any(base ^ slot in self._taken for slot in slots)

    def _take(self, unit: int) -> None:
        self._taken.add(unit)
        self.words += [0] * (unit + 1 - len(self.words))
