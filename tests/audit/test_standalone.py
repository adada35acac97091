"""The one-file verifier by itself: it shares no code with this package, so each of its parts is held against ours."""

import ast
import json
import random
import re
import struct
import sys
from base64 import b64decode
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import audit
from audit import standalone
from audit.canonical import canonical, parse_canonical
from audit.merkle import leaf_hash, root_hash
from audit.proof import prove_inclusion
from audit.tiles import Tile

SOURCE = audit.VERIFIER.read_text(encoding="utf-8")


def test_it_is_one_short_file_of_the_standard_library() -> None:
    assert len(SOURCE.splitlines()) < 300
    tree = ast.parse(SOURCE, feature_version=(3, 8))
    modules = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {module.split(".")[0] for module in modules} <= sys.stdlib_module_names
    assert not {"socket", "http", "urllib", "ssl", "subprocess", "ctypes"} & set(modules)


def test_it_calls_nothing_newer_than_python_3_8() -> None:
    assert not re.search(r"removeprefix|removesuffix|bit_count|file_digest|pairwise|zip\(.*strict|\bmatch ", SOURCE)
    annotations = re.compile(r"(-> |: )[\w\[\], .|]+")
    assert not re.search(r"(?<![\w.])(list|dict|set|tuple)\[", annotations.sub("", SOURCE))  # those are never evaluated


def test_wycheproof(data: Path) -> None:
    groups = json.loads((data / "vectors/wycheproof-ed25519/ed25519_test.json").read_text())["testGroups"]
    cases = [(bytes.fromhex(group["publicKey"]["pk"]), case) for group in groups for case in group["tests"]]
    assert len(cases) == 151
    for key, case in cases:
        signed = standalone.is_signed(key, bytes.fromhex(case["sig"]), bytes.fromhex(case["msg"]))
        assert signed == (case["result"] == "valid"), case


def test_inclusion_vectors(data: Path) -> None:
    folder = data / "vectors/transparency-dev-merkle/testdata/inclusion"
    cases = [json.loads(path.read_text()) for path in folder.rglob("*.json")]
    assert len(cases) > 50
    for case in cases:
        try:
            proof = [b64decode(each) for each in case["proof"] or []]
            n, size, leaf = case["leafIdx"], case["treeSize"], b64decode(case["leafHash"])
            right = standalone.root_from(n, size, leaf, proof) == b64decode(case["root"])
            right = right and n < size and len(leaf) == 32  # which the verifier knows of its own leaves
        except standalone.BROKEN:
            right = False
        assert right == (not case["wantErr"]), case


def test_trees_and_proofs_of_all_small_sizes() -> None:
    leaves = [leaf_hash(bytes([n])) for n in range(40)]
    for size in range(41):
        assert standalone.root_of(leaves[:size]) == root_hash(leaves[:size])
        for n in range(size):
            proof = prove_inclusion(n, size, lambda start, end: root_hash(leaves[start:end]))
            assert standalone.root_from(n, size, leaves[n], proof) == root_hash(leaves[:size])
            for wrong in ([*proof, proof[-1]] if proof else [leaves[0]], proof[:-1], [*reversed(proof)]):
                if wrong != proof:
                    try:
                        assert standalone.root_from(n, size, leaves[n], wrong) != root_hash(leaves[:size])
                    except standalone.BROKEN:
                        continue


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(1e21)
@example(123456789012345680000.0)
@example(1e-7)
@example(0.0001)
def test_numbers_are_ours(value: float) -> None:
    assert value == 0 or standalone.write_number(value).encode() == canonical(value)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON))
def test_canonical_bytes_are_taken(value: dict[str, object]) -> None:
    assert standalone.parse(canonical({**value, "v": 1, "n": 7}), 7)["n"] == 7


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=3), st.randoms())
def test_changed_bytes_are_judged_as_by_ours(value: dict[str, object], chance: random.Random) -> None:
    data = bytearray(canonical({**value, "v": 1, "n": 7}))
    for _ in range(chance.randrange(1, 3)):
        data[chance.randrange(len(data))] = chance.choice(b'0123456789.eE+-"\\{}[],: aunftrls\xf0\xff')
    assert taken(bytes(data)) == is_ours(bytes(data))


@pytest.mark.parametrize(
    "text",
    [
        '{"n":7,"v":1,"v":1}', '{"v":1,"n":7}', '{"n":7, "v":1}', '{"n":7,"v":1.0}', '{"n":07,"v":1}', '{"n":-0,"v":1}',
        '{"a":NaN,"n":7,"v":1}', '{"a":Infinity,"n":7,"v":1}', '{"a":1e400,"n":7,"v":1}', '{"a":"\\ud800","n":7,"v":1}',
        '{"a":"\\u00e4","n":7,"v":1}', '{"a":1E5,"n":7,"v":1}', '{"a":1.50,"n":7,"v":1}', '{"n":8,"v":1}', "[]", "7",
        "", '{"n":7,"v":2}', '{"a":9007199254740993,"n":7,"v":1}', '{"n":7,"v":1,"\U00010000":0,"\uff00":0}',
        '{"n":7,"v":1,"\uff00":0,"\U00010000":0}', "[" * 100_000,
        '{"a":-0,"n":7,"v":1}', '{"a":' + "[" * 63 + '"x"' + "]" * 63 + ',"n":7,"v":1}',
        '{"a":' + "[" * 64 + "]" * 64 + ',"n":7,"v":1}', '{"a":' + "[" * 900 + "]" * 900 + ',"n":7,"v":1}',
        '{"a":' + "9" * 100_000 + ',"n":7,"v":1}', '{"a":1e-7,"n":7,"v":1}', '{"a":1e-07,"n":7,"v":1}',
        '{"a":1e+21,"n":7,"v":1}', '{"a":-0.000001,"n":7,"v":1}', '{"a":-1.5e-300,"n":7,"v":1}', '{"n":"7","v":1}',
        '{"a":"/\\/","n":7,"v":1}', '{"a":"\x7f","n":7,"v":1}', '{"a":0.0,"n":7,"v":1}', '{"a":-0.0,"n":7,"v":1}',
    ],
)  # fmt: skip
def test_hostile_bytes_are_judged_as_by_ours(text: str) -> None:
    assert taken(text.encode()) == is_ours(text.encode())


def taken(data: bytes) -> bool:
    try:
        standalone.parse(data, 7)
    except standalone.BROKEN:
        return False
    return True


def is_ours(data: bytes) -> bool:
    try:
        value = parse_canonical(data)
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("n") == 7 and value.get("v") == 1


def test_paths_of_tiles_are_ours() -> None:
    for index in (0, 1, 999, 1000, 1_234_067):
        for width in (1, 256):
            assert standalone.tile_path(2, index * 256, width) == f"log/{Tile(2, index, width).path}"


def test_random_doubles() -> None:
    chance = random.Random(5)
    for _ in range(20_000):
        (value,) = struct.unpack("d", chance.randbytes(8))
        if value - value == 0 and value:
            assert standalone.write_number(value).encode() == canonical(value)


@pytest.mark.parametrize(
    "text", ['{"n":7,"v":true}', '{"n":7,"v":"1"}', '{"n":7}', '{"n":true,"v":1}', '{"n":null,"v":1}']
)
def test_version_and_number_are_of_their_type(text: str) -> None:
    assert not taken(text.encode())
    with pytest.raises(standalone.BROKEN):
        standalone.parse(text.replace("7", "1").encode(), 1)


def test_the_form_of_members() -> None:
    form = {"size": int, "root": "[0-9a-f]{4}", "name": str}
    right = {"name": "", "root": "00ff", "size": 0, "v": 1}
    assert standalone.parse(canonical(right), **form) == right
    for wrong in ({"size": -1}, {"size": True}, {"size": "1"}, {"size": 0.5}, {"root": ""}, {"root": "00ff\n"},
                  {"name": None}, {"name": []}):  # fmt: skip
        with pytest.raises(standalone.BROKEN):
            standalone.parse(canonical({**right, **wrong}), **form)
