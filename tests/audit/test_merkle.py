import base64
import json
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.merkle import HASH, WIDTH, TileData, Tree, leaf_hash, node_hash, root_hash, split_hashes
from audit.tiles import Tile, edge_of, parse_tile_path, tiles_of, to_tile

# The leaves of the certificate-transparency project's reference tree, which the published vectors hash.
LEAVES = [
    bytes.fromhex(x)
    for x in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]


def slow_root(entries: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    n = len(entries)
    if n == 0:
        return sha256(b"").digest()
    if n == 1:
        return sha256(b"\x00" + entries[0]).digest()
    k = 1
    while k * 2 < n:
        k *= 2
    return sha256(b"\x01" + slow_root(entries[:k]) + slow_root(entries[k:])).digest()


def entries(count: int) -> list[bytes]:
    return [b"%d" % i for i in range(count)]


def grown(count: int) -> tuple[Tree, dict[Tile, bytes]]:
    tree, tiles = Tree(), dict[Tile, bytes]()
    for data in entries(count):
        tiles |= {to_tile(full): full.data for full in tree.append(leaf_hash(data))}
    return tree, tiles | {to_tile(part): part.data for part in tree.unfinished()}


def test_all_small_trees_are_as_defined() -> None:
    tree = Tree()
    for size in range(600):
        assert tree.size == size
        assert tree.root() == slow_root(entries(size)) == root_hash([leaf_hash(e) for e in entries(size)])
        tree.append(leaf_hash(b"%d" % size))


@pytest.mark.parametrize("size", [65535, 65536, 65537, 65536 + 257])
def test_trees_with_three_levels_of_tiles(size: int) -> None:
    tree, tiles = grown(size)
    assert tree.root() == slow_root(entries(size))
    assert set(tiles) == set(tiles_of(size))


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 513, 70_000])
def test_tiles_hold_the_hashes_of_their_subtrees(size: int) -> None:
    _, tiles = grown(size)
    assert set(tiles) == set(tiles_of(size))
    for tile, data in sorted(tiles.items())[-6:]:
        assert len(data) == tile.width * HASH
        span, position = WIDTH**tile.level, tile.index * WIDTH + tile.width - 1
        below = entries(size)[position * span : (position + 1) * span]
        assert data[-HASH:] == slow_root(below)
    assert edge_of(size) == sorted(tile for tile in tiles if tile.width < WIDTH)


def test_the_example_of_tlog_tiles() -> None:
    tiles = list(tiles_of(70_000))
    assert sum(t.level == 0 and t.width == 256 for t in tiles) == 273
    assert edge_of(70_000) == [Tile(0, 273, 112), Tile(1, 1, 17), Tile(2, 0, 1)]
    assert list(tiles_of(256)) == [Tile(0, 0, 256), Tile(1, 0, 1)]
    assert Tile(0, 1234067, 256).path == "tile/0/x001/x234/067"
    assert Tile(1, 5, 17).path == "tile/1/005.p/17"


@given(st.integers(0, 7), st.integers(0, 2**40), st.integers(1, 256))
def test_a_tiles_path_names_it(level: int, index: int, width: int) -> None:
    tile = Tile(level, index, width)
    assert parse_tile_path(tile.path) == tile


@pytest.mark.parametrize(
    "path",
    ["tile/0/0", "tile/00/000", "tile/0/x000/000", "tile/0/001/002", "tile/0/000.p/256", "tile/0/000.p/0",
     "tile/0/000.p/01", "tile/0/000.p", "tile/0/000/", "tile//000",
     "tile/0/\u0660\u0660\u0660", "Tile/0/000", "tile/0/000.tmp", "tile/0/x1000/000"],
)  # fmt: skip
def test_other_paths_name_no_tile(path: str) -> None:
    assert parse_tile_path(path) is None


def test_a_copy_grows_alone() -> None:
    tree, _ = grown(300)
    root = tree.root()
    tree.copy().append(leaf_hash(b"x"))
    assert tree.root() == root


def test_full_tiles_come_lowest_level_first() -> None:
    tree, _ = grown(65535)
    full = tree.append(leaf_hash(b"65535"))
    assert [(tile.level, tile.index, tile.width) for tile in full] == [(0, 255, 256), (1, 0, 256)]
    assert tree.unfinished() == [TileData(2, 0, tree.root())]
    assert root_hash(split_hashes(full[1].data)) == tree.root()


def test_leaves_and_nodes_cannot_be_confused() -> None:
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    assert leaf_hash(left + right) != node_hash(left, right)
    assert len({root_hash([leaf_hash(e) for e in entries(n)]) for n in range(50)}) == 50
    assert all(a != b for a, b in pairwise(slow_root(entries(n)) for n in range(50)))


def test_published_roots(data: Path) -> None:
    roots = dict[int, bytes]()
    for path in (data / "vectors/transparency-dev-merkle/testdata/consistency").rglob("happy-path.json"):
        case = json.loads(path.read_text())
        roots |= {case["size1"]: base64.b64decode(case["root1"]), case["size2"]: base64.b64decode(case["root2"])}
    assert len(roots) >= 6
    for size, root in roots.items():
        assert root_hash([leaf_hash(leaf) for leaf in LEAVES[:size]]) == root
