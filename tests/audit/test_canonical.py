import json
import math
import struct
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.canonical import MAX_DEPTH, MAX_INT, _parse_by_definition, canonical, parse_canonical

# RFC 8785, appendix B: the bits of a double, and its canonical form
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_are_written_as_ecmascript_does(bits: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(value) == text.encode()


def test_the_example_of_rfc_8785() -> None:
    # Section 3.2.3: names in the order of their UTF-16 code units, the emoji (a surrogate pair) before U+FB33
    value = {
        "€": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "😀": "Emoji: Grinning Face",
        "\x80": "Control",
        "ö": "Latin Small Letter O With Diaeresis",
    }
    assert [json.loads(canonical(value))[name] for name in json.loads(canonical(value))] == [
        "Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis", "Euro Sign", "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]  # fmt: skip
    sample = {
        "string": '€$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
        "numbers": [333333333.33333329, 1e30, 4.5, 2e-3, 1e-27],
    }
    assert canonical(sample) == (
        b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        b'"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 2**53, -(2**53), "\ud800", {"\udfff": 1}, {1: 2}, b"bytes", {1, 2}, object()],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        canonical({"value": [value]} if not isinstance(value, dict) else value)


def test_deep_nesting_is_refused_both_ways() -> None:
    def nested(depth: int) -> object:
        return [nested(depth - 1)] if depth else []

    assert parse_canonical(canonical(nested(63))) == nested(63)
    with pytest.raises(ValueError, match="nested deeper"):
        canonical(nested(64))
    with pytest.raises(ValueError, match="nested deeper"):
        parse_canonical(b"[" * 65 + b"]" * 65)
    with pytest.raises(ValueError, match="nested deeper"):
        parse_canonical(b"[" * 100_000 + b"]" * 100_000)


def test_an_enumerations_member_is_its_value() -> None:
    class State(StrEnum):
        DONE = "done"

    assert canonical({"state": State.DONE, State.DONE: True}) == b'{"done":true,"state":"done"}'


@pytest.mark.parametrize(
    "text",
    [b'{"b":1,"a":2}', b'{"a":1,"a":1}', b'{"a":1,"a":2}', b'{"a": 1}', b"1.0", b"1e2", b"-0", b"1E+30",
     b"1e30", b"01", b'"\\u0041"', b'"\\/"', b'"\\u000A"', b'"\\ud800"', b'"\\ud83d\\ude00"', b"\xef\xbb\xbf1",
     b'"\xff"', b"NaN", b"Infinity", b"9007199254740993", b"0.1000000000000000055", b"1e400", b" 1", b"1 ",
     b"1\n", b"", b"[1,]", b'"\x00"', b'"a\nb"', b"'a'"],
)  # fmt: skip
def test_every_other_form_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_canonical(text)


# JSON has one kind of number, so -0.0 and 1.0 are the ints 0 and 1 when they come back: equal, as Python compares.
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_INT, MAX_INT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(json_values)
def test_what_is_written_is_read_back_and_is_json(value: object) -> None:
    data = canonical(value)
    assert parse_canonical(data) == value
    assert canonical(parse_canonical(data)) == data
    assert json.loads(data, parse_int=float) == value  # as JavaScript reads numbers


@given(st.binary(max_size=40) | st.text(alphabet='{}[]":,0123456789.eE+-truefalsn\\ u', max_size=30).map(str.encode))
def test_nothing_but_canonical_bytes_is_read(data: bytes) -> None:
    try:
        value = parse_canonical(data)
    except ValueError:
        return
    assert canonical(value) == data


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_the_same_double_when_read_back(value: float) -> None:
    assert float(canonical(value)) == value


def test_json_test_suite(data: Path) -> None:
    """What must not parse is refused; what must parse has a canonical form, unless JSON readers differ about it."""
    seen = {"y": 0, "n": 0}
    for path in sorted((data / "vectors/JSONTestSuite/test_parsing").glob("*.json")):
        verdict, text = path.name[0], path.read_bytes()
        if verdict == "n":
            with pytest.raises(ValueError, match=r"\w"):
                parse_canonical(text)
        elif verdict == "y":
            value = json.loads(text)
            if "\\ud" in ascii(value):  # a lone surrogate, which no UTF-8 can hold
                continue
            assert parse_canonical(canonical(value)) == value
        if verdict in seen:
            seen[verdict] += 1
    assert seen == {"y": 95, "n": 188}


@given(json_values)
def test_the_quick_way_reads_what_the_definition_does(value: object) -> None:
    data = canonical(value)
    assert parse_canonical(data) == _parse_by_definition(data) == value


@given(
    json_values,
    st.binary(min_size=1, max_size=3)
    | st.sampled_from([b"1.0", b"-0", b"1e5", b"\\u0041", b"\xf0\x9f\x98\x80", b"9" * 17]),
    st.integers(0, 60),
)
def test_it_refuses_what_the_definition_refuses(value: object, put: bytes, at: int) -> None:
    data = canonical(value)
    changed = data[:at] + put + data[at:]
    assert told(parse_canonical, changed) == told(_parse_by_definition, changed)


def told(parse: Callable[[bytes], object], data: bytes) -> tuple[object, str]:
    """The value, or what is said of it."""
    try:
        return parse(data), ""
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1])
def test_nesting_is_counted_in_both_ways(levels: int) -> None:
    data = b"[" * levels + b"]" * levels
    value = json.loads(data)
    if levels <= MAX_DEPTH:
        assert (canonical(value), parse_canonical(data)) == (data, value)
        return
    with pytest.raises(ValueError, match="nested deeper"):
        canonical(value)
    with pytest.raises(ValueError, match="nested deeper"):
        parse_canonical(data)
