"""A line of a batch file means one thing, or is refused, whatever is in it and however much."""

import json
import time

import pytest

from pipeline.openai.line import DEEPEST, MOST, LineError, line_name, numbers_of, read_line


def nested(levels: int) -> str:
    return '{"a":' + "[" * levels + "]" * levels + "}"


def test_what_json_says() -> None:
    said = {"custom_id": "ä😀", "body": {"n": 1, "x": [0.5, None, True, "\u2028"]}}
    assert read_line(json.dumps(said)) == said
    assert read_line(json.dumps(said, ensure_ascii=False)) == said
    assert read_line(nested(DEEPEST - 1))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "no JSON: Expecting value at character 1"),
        ('{"a": 1', "no JSON: Expecting ',' delimiter at character 8"),
        ('{"a": 1} {}', "no JSON: Extra data at character 10"),
        ("{'a': 1}", "no JSON"),
        ("[1]", "it is no JSON object"),
        ("null", "it is no JSON object"),
        ('{"a": NaN}', "NaN is no number"),
        ('{"a": -Infinity}', "-Infinity is no number"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "it has the key 'c' twice"),
        ('{"a": "\\ud83d"}', "half of a surrogate pair"),
        ('{"\\udc00": 1}', "half of a surrogate pair"),
        ('{"a": "\n"}', "no JSON: Invalid control character at character 8"),
        ('{"a": ' + "9" * 5000 + "}", "a number is too long"),
        (nested(DEEPEST + 1), "nested deeper than 64 levels"),
        (nested(200_000), "nested deeper than 64 levels"),
        ('{"a":[' + "{}," * MOST + "0]}", "more than 1,000,000 brackets, commas and colons"),
    ],
)
def test_what_is_refused(line: str, why: str) -> None:
    begun = time.process_time()
    with pytest.raises(LineError, match=why.replace("[", r"\[")):
        read_line(line)
    assert time.process_time() - begun < 2


def test_names_of_lines() -> None:
    for number, first in ((1, None), (17, 3), (12_345_678, None)):
        assert numbers_of(line_name(number, first)) == (number, first)
    assert sorted(map(line_name, (100, 20, 3))) == list(map(line_name, (3, 20, 100)))
    for name in ("17.json", "0000017", "x.json", "0000017 repeats 3.json", ""):
        with pytest.raises(LineError):
            numbers_of(name)
