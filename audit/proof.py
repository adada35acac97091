"""Proofs of RFC 6962, section 2.1: that an entry is in a tree, and that a tree has only grown. Functions of hashes.

    inclusion     the hashes beside the way from one leaf up to the root; lowest first
    consistency   the hashes that give both the old root and the new one

`prove_` follows the recursive definitions word for word; `check_` the iterative verifiers of RFC 9162, sections 2.1.3.2
and 2.1.4.2, which read a proof and nothing else. A check that fails is a ValueError that says why.
"""

from collections.abc import Callable, Sequence

from audit.merkle import HASH, node_hash

MTH = Callable[[int, int], bytes]  # (start, end) -> the root over the leaves start to end - 1


def split(count: int) -> int:
    """k of RFC 6962: the greatest power of two below `count`, which is 2 at least."""
    return 1 << (count - 1).bit_length() - 1


def prove_inclusion(index: int, size: int, mth: MTH) -> list[bytes]:
    """PATH(index, D[size]); ValueError if there is no such leaf."""
    if not 0 <= index < size:
        raise ValueError(f"no leaf {index} in a tree of {size}")
    return _path(index, 0, size, mth)


def prove_consistency(old: int, new: int, mth: MTH) -> list[bytes]:
    """PROOF(old, D[new]); empty if they are equal or `old` is 0. ValueError if `old` is greater."""
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {new} leaves does not extend one of {old}")
    return _subproof(old, 0, new, mth, True) if old else []


def check_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> None:
    """ValueError unless `proof` shows that `leaf` is leaf `index` of the tree with that size and root."""
    if not 0 <= index < size:
        raise ValueError(f"no leaf {index} in a tree of {size}")
    if any(len(hash) != HASH for hash in (leaf, *proof)):
        raise ValueError(f"not hashes of {HASH} bytes")
    position, last, found = index, size - 1, leaf
    for hash in proof:
        if last == 0:
            raise ValueError(f"a proof of {len(proof)} hashes is too long")
        if position & 1 or position == last:
            found = node_hash(hash, found)
            position, last = _to_left_sibling(position, last)
        else:
            found = node_hash(found, hash)
        position, last = position >> 1, last >> 1
    if last:
        raise ValueError(f"a proof of {len(proof)} hashes is too short")
    if found != root:
        raise ValueError(f"the proof gives the root {found.hex()}, expected {root.hex()}")


def check_consistency(old: int, new: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes) -> None:
    """ValueError unless `proof` shows that the tree of `new` leaves begins with that of `old`.

    Of an empty tree nothing can be shown (everything extends it): `old` must be 1 at least.
    """
    if not 0 < old <= new:
        raise ValueError(f"no proof shows that a tree of {new} leaves extends one of {old}")
    if old == new:
        if proof or old_root != new_root:
            raise ValueError("a proof where none is needed" if proof else "trees of one size with different roots")
        return
    first, last = _fold(old, new, proof, old_root)
    if first != old_root:
        raise ValueError(f"the proof gives the old root {first.hex()}, expected {old_root.hex()}")
    if last != new_root:
        raise ValueError(f"the proof gives the new root {last.hex()}, expected {new_root.hex()}")


def _path(index: int, start: int, end: int, mth: MTH) -> list[bytes]:
    if end - start == 1:
        return []
    middle = start + split(end - start)
    if index < middle:
        return [*_path(index, start, middle, mth), mth(middle, end)]
    return [*_path(index, middle, end, mth), mth(start, middle)]


def _subproof(old: int, start: int, end: int, mth: MTH, whole: bool) -> list[bytes]:
    """SUBPROOF; `old` is counted from leaf 0, and `whole` says that the verifier knows the root from `start` to it."""
    if old == end:
        return [] if whole else [mth(start, end)]
    middle = start + split(end - start)
    if old <= middle:
        return [*_subproof(old, start, middle, mth, whole), mth(middle, end)]
    return [*_subproof(old, middle, end, mth, False), mth(start, middle)]


def _fold(old: int, new: int, proof: Sequence[bytes], old_root: bytes) -> tuple[bytes, bytes]:
    """The old and the new root that a proof gives."""
    if any(len(hash) != HASH for hash in proof):
        raise ValueError(f"not hashes of {HASH} bytes")
    position, last = old - 1, new - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    hashes = list(proof) if position else [old_root, *proof]
    if not hashes:
        raise ValueError("an empty proof")
    first = second = hashes[0]
    for hash in hashes[1:]:
        if last == 0:
            raise ValueError(f"a proof of {len(proof)} hashes is too long")
        if position & 1 or position == last:
            first, second = node_hash(hash, first), node_hash(hash, second)
            position, last = _to_left_sibling(position, last)
        else:
            second = node_hash(second, hash)
        position, last = position >> 1, last >> 1
    if last:
        raise ValueError(f"a proof of {len(proof)} hashes is too short")
    return first, second


def _to_left_sibling(position: int, last: int) -> tuple[int, int]:
    """Up the right edge, past the levels where a node has no sibling and is passed upward as it is."""
    while position and not position & 1:
        position, last = position >> 1, last >> 1
    return position, last
