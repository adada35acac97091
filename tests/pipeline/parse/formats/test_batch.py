"""Files of the OpenAI Batch format: lines become documents, however the file is written and whatever is in it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.document import Parsed, Section
from pipeline.errors import DocumentError, Failure
from pipeline.openai.line import BATCH_FILE, REQUEST
from pipeline.parse.options import Options

Members = Callable[..., tuple[Parsed, dict[str, bytes | Failure]]]
FILE, LINE = Options(media_type=BATCH_FILE), Options(media_type=REQUEST)


def request(name: str, **more: Any) -> bytes:
    return json.dumps({"custom_id": name, "method": "POST"} | more, ensure_ascii=False).encode()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [b"", b"\n", b"\n\n"])
def test_lines_as_editors_write_them(parse_members: Members, mark: bytes, end: bytes, last: bytes) -> None:
    body = mark + end.join([request("ä"), b"", b" \t", request("b") + b"  "]) + last
    parsed, members = parse_members(body, "night.jsonl", FILE)
    assert (parsed.text, parsed.media_type, parsed.parser) == ("", BATCH_FILE, "batch/1")
    assert members == {"0000001.json": request("ä"), "0000004.json": request("b")}


def test_whatever_is_on_a_line_is_a_document(parse_members: Members) -> None:
    lines = [b"not JSON", b"[1]", b"\xff\xfe", request("a"), b"\x00", request("a"), b"{" * 100_000, request("a", x=1)]
    _, members = parse_members(b"\n".join(lines), "night.jsonl", FILE)
    assert list(members.values()) == lines
    assert list(members)[5] == "0000006 repeats 0000004.json"
    assert list(members)[7] == "0000008 repeats 0000004.json"


@pytest.mark.parametrize(
    ("body", "failure", "why"),
    [
        (b"\n \r\n\t\n", Failure.EMPTY, "no text"),
        (b"\xef\xbb\xbf", Failure.EMPTY, "no text"),
        (b"a,b\n1,2\n", Failure.CORRUPT, "none of its 2 lines is a JSON object"),
        (b"%PDF-1.7\n\xff\xff", Failure.CORRUPT, "none of its 2 lines"),
        ('{"custom_id": "a"}\n'.encode("utf-16"), Failure.CORRUPT, "UTF-16"),
        (
            request("a") + b"\n" + b"{}\n" * 1_000_000,
            Failure.BOMB,
            r"more documents than limits\.unpacked_documents \(10,000\) allows",
        ),
    ],
)
def test_files_that_are_refused(parse_members: Members, body: bytes, failure: Failure, why: str) -> None:
    with pytest.raises(DocumentError, match=why) as raised:
        parse_members(body, "night.jsonl", FILE)
    assert raised.value.failure == failure


def test_a_request_is_its_line(parse_members: Members) -> None:
    line = request("ä", body={"x": "\u2028"})
    parsed, members = parse_members(line, "0000017.json", LINE)
    assert (parsed.text, parsed.media_type, members) == (line.decode(), REQUEST, {})
    assert parsed.sections == (Section(0, 0, "line", "17"),)
    parsed, _ = parse_members(line, "0000017 repeats 0000003.json", LINE)
    assert parsed.sections == (Section(0, 0, "line", "17"), Section(0, 1, "repeats", "3"))


@pytest.mark.parametrize(
    ("line", "failure", "why"),
    [
        (b"no", Failure.INVALID_REQUEST, "line 17: it is no JSON"),
        (b'{"a": "\xff"}', Failure.INVALID_REQUEST, "line 17: byte 8 is no UTF-8"),
        (b'{"a":' + b"[" * 1_000_000, Failure.INVALID_REQUEST, "line 17: it (is nested|is no JSON|has more)"),
        (b'{"a":[' + b"[]," * 600_000 + b"0]}", Failure.INVALID_REQUEST, "line 17: it has more than 1,000,000"),
        (b'{"a":"' + b"x" * 2_000_000 + b'"}', Failure.TOO_LARGE, "line 17 has 2,000,008 characters"),
    ],
)
def test_requests_that_are_refused(parse_members: Members, line: bytes, failure: Failure, why: str) -> None:
    with pytest.raises(DocumentError, match=why) as raised:
        parse_members(line, "0000017.json", LINE)
    assert raised.value.failure == failure


def test_a_name_that_is_none_of_a_line(parse_members: Members) -> None:
    with pytest.raises(DocumentError, match="its name is none of a line"):
        parse_members(request("a"), "x.json", LINE)


def test_every_cut_of_a_file_is_a_file_or_a_failure(parse_members: Members) -> None:
    body = b"\xef\xbb\xbf" + request("a") + b"\r\n" + request("b")
    first = body.index(b"}") + 1
    for end in range(first, len(body) + 1, 7):
        _, members = parse_members(body[:end], "night.jsonl", FILE)
        assert next(iter(members.values())) == request("a")
        assert len(members) == 1 + (end > first + 2)
    for end in range(1, first, 7):
        with pytest.raises(DocumentError, match=r"none of its 1 lines|no text"):
            parse_members(body[:end], "night.jsonl", FILE)
