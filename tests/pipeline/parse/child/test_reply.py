"""The parent's reading of answers: a child that was taken over may send anything."""

import errno
import json
import random
from typing import Any

import pytest

from pipeline.document import Hidden, Member, Parsed, Picture, Section
from pipeline.errors import DocumentError, Failure
from pipeline.parse.child.channel import BadMessageError
from pipeline.parse.child.reply import format_failure, format_no_room, format_parsed, parse_reply
from pipeline.parse.limits import Limits
from pipeline.parse.members import NoRoomError

LIMITS = Limits(output_characters=100)
PARSED = Parsed(
    "one\n\ntwo", "application/pdf", "pdf/1", (0, 5), "utf-8", 0.5, ("a note",),
    sections=(Section(0, 0, "page", "one"), Section(5, 1, "heading", "two")),
    hidden=(Hidden("off_page", 3),),
    members=(Member("a/b.txt", 5, 0), Member("c", 9, None, Failure.ENCRYPTED, "with a password")),
    images=(Picture("page 2", 5, 10),),
    unsure=("page 3: too much is drawn on it",),
)  # fmt: skip
MEMBER = {"name": "a", "size": 5, "offset": 0, "failure": None, "reason": None}


def message(**changed: Any) -> dict[str, Any]:
    return json.loads(json.dumps(format_parsed(PARSED) | changed))


def test_a_document_and_a_failure_come_back_as_they_were() -> None:
    assert parse_reply(message(), LIMITS) == PARSED
    error = DocumentError(Failure.ENCRYPTED, "locked")
    with pytest.raises(DocumentError) as raised:
        parse_reply(format_failure(error), LIMITS)
    assert (raised.value.failure, raised.value.reason) == (Failure.ENCRYPTED, "locked")


@pytest.mark.parametrize(
    "changed",
    [
        {"text": 5},
        {"text": None},
        {"text": "x" * 101},
        {"text": "\ud800"},
        {"media_type": "x" * 201},
        {"parser": []},
        {"page_starts": None},
        {"page_starts": [1]},
        {"page_starts": [0, -1]},
        {"page_starts": [0, 5, 4]},
        {"page_starts": [0, 9]},
        {"page_starts": [0, True]},
        {"page_starts": [0, 1.0]},
        {"page_starts": {"0": 0}},
        {"encoding": 1},
        {"encoding_confidence": 2},
        {"encoding_confidence": True},
        {"encoding_confidence": "1"},
        {"encoding_confidence": float("nan")},
        {"notes": "text"},
        {"notes": ["x"] * 101},
        {"notes": [1]},
        {"surplus": 1},
        {"sections": [[0, 0, "page"]]},
        {"sections": [[10, 0, "page", "x"]]},
        {"sections": [[5, 0, "page", "x"], [4, 0, "page", "x"]]},
        {"sections": [[0, -1, "page", "x"]]},
        {"hidden": {"unheard_of": 1}},
        {"hidden": {"tiny": -1}},
        {"hidden": []},
        {"members": [MEMBER | {"size": -1}]},
        {"members": [MEMBER | {"size": 2**40}]},
        {"members": [MEMBER | {"offset": None}]},
        {"members": [MEMBER | {"offset": True}]},
        {"members": [MEMBER | {"failure": "unheard_of"}]},
        {"members": [MEMBER | {"name": 5}]},
        {"members": [MEMBER | {"surplus": 5}]},
        {"members": [MEMBER] * 10_001},
        {"images": [[1, 0]]},
        {"images": [[1, 0, 2**40]]},
        {"unsure": "page 3"},
        {"unsure": [3]},
        {"unsure": ["x"] * 101},
    ],
)
def test_anything_else_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(BadMessageError):
        parse_reply(message(**changed), LIMITS)


def test_a_full_disk_is_the_operators() -> None:
    with pytest.raises(OSError, match="while a document was unpacked"):
        parse_reply(format_no_room(NoRoomError(errno.ENOSPC)), LIMITS)
    for number in (None, 0, "28", True, errno.EINTR):
        with pytest.raises(BadMessageError):
            parse_reply({"no_room": number}, LIMITS)


@pytest.mark.parametrize(
    "failure",
    [
        {"failure": "unheard_of", "reason": ""},
        {"failure": None, "reason": ""},
        {"failure": [], "reason": ""},
        {"failure": "corrupt"},
        {"failure": "corrupt", "reason": 1},
        {"failure": "corrupt", "reason": "", "text": ""},
    ],
)
def test_a_failure_is_of_the_closed_list(failure: dict[str, Any]) -> None:
    with pytest.raises(BadMessageError):
        parse_reply(failure, LIMITS)


def test_missing_fields_are_refused() -> None:
    for name in format_parsed(PARSED):
        with pytest.raises(BadMessageError):
            parse_reply({key: value for key, value in message().items() if key != name}, LIMITS)


def test_random_json_is_a_document_or_refused() -> None:
    choices: list[Any] = [None, 0, -1, 10**30, 0.5, "", "x", [], [0], {}, True, "corrupt", [[]], float("inf")]
    rng = random.Random(7)
    for _ in range(2000):
        hostile = {key: rng.choice(choices) for key in rng.sample([*message(), "failure", "reason"], k=6)}
        with pytest.raises((BadMessageError, DocumentError)):
            parse_reply(hostile, LIMITS)


def test_many_or_long_notes_are_shortened_and_said_to_be() -> None:
    sent = format_parsed(Parsed("x", "text/plain", "txt/1", notes=("y" * 5000, *map(str, range(500)))))
    parsed = parse_reply(sent, LIMITS)
    assert len(parsed.notes) == 100
    assert parsed.notes[0].endswith("…")
    assert parsed.notes[-1] == "402 further notes"


def test_what_people_see_is_one_line_without_controls() -> None:
    hostile = "a\x1b[31m\r\n\u202eb\u2028\U000e0041"
    escaped = "a\\x1b[31m\\r\\n\\u202eb\\u2028\\U000e0041"
    names = ("media_type", "parser", "encoding")
    parsed = parse_reply(message(notes=[hostile], **dict.fromkeys(names, hostile)), LIMITS)
    assert [getattr(parsed, name) for name in names] == [escaped] * 3
    assert parsed.notes == (escaped,)
    assert parsed.text == "one\n\ntwo"
    with pytest.raises(DocumentError) as raised:
        parse_reply({"failure": "corrupt", "reason": hostile}, LIMITS)
    assert raised.value.reason == escaped


def test_what_people_see_stays_short_when_escaped() -> None:
    (note,) = parse_reply(message(notes=["\u202e" * 1000]), LIMITS).notes
    assert len(note) == 2000
    assert note.endswith("…")
    with pytest.raises(DocumentError) as raised:
        parse_reply({"failure": "corrupt", "reason": "\x1b" * 1000}, LIMITS)
    assert len(raised.value.reason) == 2000
