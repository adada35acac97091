"""The strict YAML reader: values as YAML 1.2 means them, places, and everything it refuses."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.config.source import MAX_BYTES, MAX_DEPTH, Place, parse_source
from jobs.errors import ConfigError, Problem


def problem_of(data: bytes) -> Problem:
    with pytest.raises(ConfigError) as error:
        parse_source(data, "f.yaml")
    assert len(error.value.problems) == 1
    return error.value.problems[0]


def test_values_are_those_of_yaml_1_2() -> None:
    text = """
norway: NO
switch: on
time: 22:00
day: 2026-11-20
quoted: "12"
octal: 0o17
digest: {digest}
number: 12
negative: -3
float: 1.5e3
infinite: .inf
yes: true
none: ~
empty:
block: |
  two
  lines
list: [a, 1, [b]]
"""
    assert parse_source(text.replace("{digest}", "1" * 64).encode(), "f").value == {
        "norway": "NO",
        "switch": "on",
        "time": "22:00",
        "day": "2026-11-20",
        "quoted": "12",
        "octal": "0o17",
        "digest": "1" * 64,
        "number": 12,
        "negative": -3,
        "float": 1500.0,
        "infinite": ".inf",
        "yes": True,
        "none": None,
        "empty": None,
        "block": "two\nlines\n",
        "list": ["a", 1, ["b"]],
    }


def test_places_count_from_one_in_characters() -> None:
    source = parse_source("ä: 1\nöl:\n  - {x: 'y', ß: 2}\n".encode(), "f")
    assert source.keys[("öl", 0, "ß")] == Place(3, 14)
    assert source.values[("öl", 0, "ß")] == Place(3, 17)
    assert source.values[("öl",)] == Place(3, 3)
    assert source.values[()] == Place(1, 1)


def test_digest_is_of_the_bytes_and_a_byte_order_mark_is_no_text() -> None:
    data = b"\xef\xbb\xbfa: 1\r\n"
    source = parse_source(data, "f")
    assert source.value == {"a": 1}
    assert source.sha256 == hashlib.sha256(data).hexdigest()


REFUSED = [
    (b"", 1, 1, "the file is empty"),
    (b"# nothing\n", 1, 1, "the file is empty"),
    (b"- a\n- b\n", 1, 1, "a list of 2 at the top level"),
    (b"just text\n", 1, 1, "the text 'just text' at the top level"),
    (b"a: 1\nb:\n\tc: 2\n", 3, 1, "a tab in the indentation"),
    (b"a: 1\nb:\n  \tc: 2\n", 3, 3, "a tab in the indentation"),
    (b"a: 1\nb: 2\na: 3\n", 3, 1, "the key 'a' a second time (first in line 1, column 1)"),
    (b"a: {b: 1, b: 2}\n", 1, 11, "the key 'b' a second time (first in line 1, column 5)"),
    (b"a: &x [1]\nb: *x\n", 1, 4, "an anchor or alias"),
    (b"a: *x\n", 1, 4, "an anchor or alias"),
    (b"a: {<<: *x}\n", 1, 9, "an anchor or alias"),
    (b"a: !!python/object:os.system x\n", 1, 4, "the tag tag:yaml.org,2002:python/object:os.system"),
    (b"a: !x y\n", 1, 4, "the tag !x"),
    (b"a: 1\n---\nb: 2\n", 2, 1, "a second document"),
    (b"? [a]\n: 1\n", 1, 3, "a key that is a mapping or a list"),
    (b"cron: * * * * *\n", 1, 8, "not YAML: while scanning an alias"),
    (b"cron: @daily\n", 1, 7, "not YAML: while scanning for the next token"),
    (b"a: 'open\nb: 1\n", 1, 4, "not YAML: while scanning a quoted scalar"),
    (b"a: [1, 2\n", 1, 4, "not YAML: while parsing a flow sequence"),
    (b"a: b: c\n", 1, 5, "not YAML: mapping values are not allowed here"),
    (b"a:\n  - b\n c: 2\n", 3, 2, "not YAML: while parsing a block mapping"),
    ("a: grün\nb: caf".encode() + b"\xe9\n", 2, 7, "the byte 0xe9, which is not UTF-8"),
    ("a: 1\n".encode("utf-16"), 1, 1, "the byte 0xff, which is not UTF-8"),
    (b"a: 1\nb: x\x01\n", 2, 5, "a character that YAML does not allow"),
    (b"a: 1\nb: x\x00\n", 2, 5, "a character that YAML does not allow"),
    (b"a: " + b"[" * 100_000, 1, 3 + MAX_DEPTH, f"nesting deeper than {MAX_DEPTH}"),
]


@pytest.mark.parametrize(("data", "line", "column", "found"), REFUSED, ids=[row[3][:40] for row in REFUSED])
def test_what_is_refused_and_where(data: bytes, line: int, column: int, found: str) -> None:
    problem = problem_of(data)
    assert (problem.line, problem.column) == (line, column)
    assert problem.found.startswith(found)


def test_what_needs_quotes_is_told_so() -> None:
    for text in (b"cron: * * * * *\n", b"cron: @daily\n", b"a: `x`\n", b"a: %x\n"):
        assert problem_of(text).remedy == "put the whole value in quotes"
    assert problem_of(b"a:\n\tb: 1\n").remedy == "indent with spaces only"


def test_a_large_file_is_not_parsed() -> None:
    assert problem_of(b"a: 1\n" + b"#" * MAX_BYTES).found == "larger than 1 MiB"


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        parse_source(data, "f")
    except ConfigError as error:
        assert str(error).startswith("f:")  # noqa: PT017 - raising is one of two right ends


@given(st.text(alphabet="ab:-[]{}#&*!|>'\"%@` \t\n,?~1.", max_size=40))
def test_any_punctuation_is_read_or_refused(text: str) -> None:
    try:
        source = parse_source(text.encode(), "f")
    except ConfigError as error:
        assert str(error).startswith("f:")  # noqa: PT017 - raising is one of two right ends
    else:
        assert set(source.keys) <= set(source.values)
