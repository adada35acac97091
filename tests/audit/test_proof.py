"""Proofs against the definitions of RFC 6962, written down slowly; against published vectors; and from tiles on the
disk."""

import base64
import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from audit.merkle import WIDTH, Tree, leaf_hash
from audit.proof import check_consistency, check_inclusion, prove_consistency, prove_inclusion
from audit.roots import StoredTree
from audit.stored import StoredTiles
from audit.tiles import Tile, tiles_of, to_tile

SIZES = 300


@cache
def slow_mth(start: int, end: int) -> bytes:
    """MTH over the entries b"0", b"1", … from start to end - 1."""
    if end == start:
        return sha256(b"").digest()
    if end - start == 1:
        return sha256(b"\x00%d" % start).digest()
    k = largest_power_below(end - start)
    return sha256(b"\x01" + slow_mth(start, start + k) + slow_mth(start + k, end)).digest()


def largest_power_below(count: int) -> int:
    k = 1
    while k * 2 < count:
        k *= 2
    return k


def slow_path(m: int, start: int, end: int) -> list[bytes]:
    """PATH(m, D[n]) of section 2.1.1, m counted from `start`."""
    n = end - start
    if n == 1:
        return []
    k = largest_power_below(n)
    if m < k:
        return [*slow_path(m, start, start + k), slow_mth(start + k, end)]
    return [*slow_path(m - k, start + k, end), slow_mth(start, start + k)]


def slow_subproof(m: int, start: int, end: int, b: bool) -> list[bytes]:
    """SUBPROOF(m, D[n], b) of section 2.1.2, m counted from `start`."""
    n = end - start
    if m == n:
        return [] if b else [slow_mth(start, end)]
    k = largest_power_below(n)
    if m <= k:
        return [*slow_subproof(m, start, start + k, b), slow_mth(start + k, end)]
    return [*slow_subproof(m - k, start + k, end, False), slow_mth(start, start + k)]


def leaf(n: int) -> bytes:
    return leaf_hash(b"%d" % n)


def stored_tree(size: int) -> StoredTree:
    """The tree of `size` entries, with nothing but the tiles that a log of that size has."""
    tree, tiles = Tree(), dict[Tile, bytes]()
    for n in range(size):
        tiles |= {to_tile(full): full.data for full in tree.append(leaf(n))}
    tiles |= {to_tile(part): part.data for part in tree.unfinished()}
    assert set(tiles) == set(tiles_of(size))
    return StoredTree(size, StoredTiles(Path("/nowhere"), (), tiles))


def test_all_inclusion_proofs_of_small_trees() -> None:
    for size in range(1, SIZES):
        for n in range(size):
            proof = prove_inclusion(n, size, slow_mth)
            assert proof == slow_path(n, 0, size)
            check_inclusion(n, size, leaf(n), proof, slow_mth(0, size))


def test_all_consistency_proofs_of_small_trees() -> None:
    for new in range(1, SIZES):
        assert prove_consistency(0, new, slow_mth) == []
        for old in range(1, new + 1):
            proof = prove_consistency(old, new, slow_mth)
            assert proof == slow_subproof(old, 0, new, True)
            check_consistency(old, new, proof, slow_mth(0, old), slow_mth(0, new))


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 511, 513, 700])
def test_every_root_comes_from_the_tiles(size: int) -> None:
    tree = stored_tree(size)
    for start, end in [(0, n) for n in range(size + 1)] + [(n, size) for n in range(0, size, 7)]:
        assert tree.root(start, end) == slow_mth(start, end)


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 65_536 + 300])
def test_proofs_across_three_levels_of_tiles(size: int) -> None:
    tree, root = stored_tree(size), slow_mth(0, size)
    for n in (0, 1, 254, 255, 256, 257, 4095, 65_279, 65_280, 65_534, size - 1):
        proof = prove_inclusion(n, size, tree.root)
        assert proof == slow_path(n, 0, size)
        check_inclusion(n, size, leaf(n), proof, root)
    for old in (1, 2, 255, 256, 257, 4096, 32_768, 65_279, 65_280, 65_281, 65_534, size - 1, size):
        proof = prove_consistency(old, size, tree.root)
        assert proof == slow_subproof(old, 0, size, True)
        check_consistency(old, size, proof, slow_mth(0, old), root)


def refused(check: Callable[..., None], *arguments: Any) -> bool:
    try:
        check(*arguments)
    except ValueError:
        return True
    return False


def spoilt(proof: list[bytes]) -> list[list[bytes]]:
    """Each way of a proof to be wrong by one step."""
    flipped = [[*proof[:i], bytes([proof[i][0] ^ 1]) + proof[i][1:], *proof[i + 1 :]] for i in range(len(proof))]
    swapped = [[*proof[:i], proof[i + 1], proof[i], *proof[i + 2 :]] for i in range(len(proof) - 1)]
    fewer = [proof[:i] + proof[i + 1 :] for i in range(len(proof))]
    more = [[*proof[:i], slow_mth(0, 1), *proof[i:]] for i in range(len(proof) + 1)]
    return [*flipped, *swapped, *fewer, *more]


def test_no_other_inclusion_proof_holds() -> None:
    for size in range(1, 40):
        for n in range(size):
            proof, root = slow_path(n, 0, size), slow_mth(0, size)
            for wrong in spoilt(proof):
                assert refused(check_inclusion, n, size, leaf(n), wrong, root)
            assert refused(check_inclusion, n, size, leaf(n + 1), proof, root)
            assert refused(check_inclusion, n, size, leaf(n), proof, slow_mth(0, size + 1))
            assert refused(check_inclusion, size, size, leaf(n), proof, root)
            for other in set(range(size)) - {n}:
                assert refused(check_inclusion, other, size, leaf(n), proof, root)


def test_no_other_consistency_proof_holds() -> None:
    for new in range(1, 40):
        for old in range(1, new + 1):
            proof, roots = slow_subproof(old, 0, new, True), (slow_mth(0, old), slow_mth(0, new))
            for wrong in spoilt(proof):
                assert refused(check_consistency, old, new, wrong, *roots)
            assert refused(check_consistency, old, new, proof, slow_mth(1, old + 1), roots[1])
            assert refused(check_consistency, old, new, proof, roots[0], slow_mth(1, new + 1))
            assert refused(check_consistency, new + 1, new, proof, *roots)
            assert refused(check_consistency, 0, new, proof, *roots)


def test_hashes_have_their_length() -> None:
    left, right = leaf(0), leaf(1)
    root = slow_mth(0, 2)
    assert not refused(check_inclusion, 1, 2, right, [left], root)
    assert refused(check_inclusion, 1, 2, right[1:], [left + right[:1]], root)
    assert refused(check_consistency, 1, 2, [right[:31]], left, root)


@pytest.mark.parametrize(("n", "size"), [(0, 0), (5, 5), (-1, 5)])
def test_what_is_not_there_is_not_proved(n: int, size: int) -> None:
    with pytest.raises(ValueError, match="no leaf"):
        prove_inclusion(n, size, slow_mth)


def test_a_smaller_tree_extends_none() -> None:
    with pytest.raises(ValueError, match="does not extend"):
        prove_consistency(6, 5, slow_mth)


def test_a_proof_has_as_many_hashes_as_it_must() -> None:
    tree = stored_tree(1000)
    assert all(len(prove_inclusion(n, 1000, tree.root)) <= 10 for n in range(1000))
    assert len(prove_inclusion(0, WIDTH, tree.root)) == 8
    assert prove_consistency(512, 1000, tree.root) == [slow_mth(512, 1000)]


def vectors(data: Path, kind: str) -> list[dict[str, Any]]:
    folder = data / "vectors/transparency-dev-merkle/testdata" / kind
    cases = [json.loads(path.read_text()) for path in sorted(folder.rglob("*.json"))]
    assert len(cases) == 98
    assert sum(case["wantErr"] for case in cases) == 92
    return cases


def decoded(hashes: list[str] | None) -> list[bytes]:
    return [base64.b64decode(hash) for hash in hashes or []]


def test_published_inclusion_proofs(data: Path) -> None:
    for case in vectors(data, "inclusion"):
        leaf, root = decoded([case["leafHash"] or "", case["root"] or ""])
        arguments = case["leafIdx"], case["treeSize"], leaf, decoded(case["proof"]), root
        assert refused(check_inclusion, *arguments) == case["wantErr"], case["desc"]


def test_published_consistency_proofs(data: Path) -> None:
    for case in vectors(data, "consistency"):
        roots = decoded([case["root1"] or "", case["root2"] or ""])
        arguments = case["size1"], case["size2"], decoded(case["proof"]), *roots
        assert refused(check_consistency, *arguments) == case["wantErr"], case["desc"]
