import pytest

from audit.entry import MAX_BYTES, format_entry, parse_entry, stamp_of
from audit.stamp import Stamp, stamp_now

STAMP = Stamp("2026-11-20T22:00:00.000000Z", "b", 7, "h", "u")
RECORD = {"type": "document", "run": "r", "size": 3}


def test_an_entry_carries_the_record_and_what_the_log_knows() -> None:
    data = format_entry(RECORD, 5, STAMP)
    assert data == (
        b'{"boot":"b","host":"h","n":5,"run":"r","size":3,"time":"2026-11-20T22:00:00.000000Z","type":"document",'
        b'"uptime_us":7,"user":"u","v":1}'
    )
    assert stamp_of(parse_entry(data, 5)) == STAMP


@pytest.mark.parametrize("name", ["v", "n", "time", "boot", "uptime_us", "host", "user"])
def test_a_record_cannot_say_what_the_log_says(name: str) -> None:
    with pytest.raises(ValueError, match=f"may not have {name}"):
        format_entry({**RECORD, name: 1}, 0, STAMP)


@pytest.mark.parametrize(
    "record", [{}, {"type": "x"}, {"run": "x"}, {"type": 1, "run": "x"}, {"type": "x", "run": None}]
)
def test_a_record_has_a_type_and_a_run(record: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected a string"):
        format_entry(record, 0, STAMP)


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"n":5', b'"n":6'), (b'"n":5', b'"n":"5"'), (b'"n":5', b'"n":true'), (b'"v":1', b'"v":2'),
     (b'"v":1', b'"v":true'), (b"22:00:00.000000Z", b"22:00:00Z"), (b'"uptime_us":7', b'"uptime_us":-7'),
     (b'"uptime_us":7', b'"uptime_us":7.5'), (b'"host":"h"', b'"host":7'), (b',"v":1', b"")],
)  # fmt: skip
def test_other_entries_are_refused(old: bytes, new: bytes) -> None:
    data = format_entry(RECORD, 5, STAMP)
    with pytest.raises(ValueError, match="expected"):
        parse_entry(data.replace(old, new), 5)


@pytest.mark.parametrize("data", [b"[]", b'"x"', b"5", b"null"])
def test_only_an_object_is_an_entry(data: bytes) -> None:
    with pytest.raises(ValueError, match="expected an object"):
        parse_entry(data, 0)


def test_an_entry_has_a_greatest_length() -> None:
    room = MAX_BYTES - len(format_entry({**RECORD, "text": ""}, 0, STAMP))
    assert len(format_entry({**RECORD, "text": "x" * room}, 0, STAMP)) == MAX_BYTES
    with pytest.raises(ValueError, match="at most 65535"):
        format_entry({**RECORD, "text": "x" * (room + 1)}, 0, STAMP)
    with pytest.raises(ValueError, match="longer than 65535"):
        parse_entry(b" " * (MAX_BYTES + 1), 0)


def test_the_real_stamp_makes_an_entry() -> None:
    first, second = stamp_now(), stamp_now()
    assert parse_entry(format_entry(RECORD, 0, first), 0)["boot"] == second.boot
    assert second.uptime_us >= first.uptime_us > 0
