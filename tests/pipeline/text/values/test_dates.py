"""Dates in figures and words, and what is noted where they can be read in two ways."""

import pytest

from pipeline.text.values import VALUES, read_habits


def found(text: str) -> list[tuple[str, str]]:
    return [(text[v.start : v.end], v.value) for v in VALUES["date"](text, read_habits(text))]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("31.12.2025", "2025-12-31"),
        ("1. 2. 2025", "2025-02-01"),
        ("31.12.25", "2025-12-31"),
        ("31.12.98", "1998-12-31"),
        ("2025-12-31", "2025-12-31"),
        ("2025/12/31", "2025-12-31"),
        ("12/31/2025", "2025-12-31"),
        ("31/12/2025", "2025-12-31"),
        ("20-10-2015", "2015-10-20"),
        ("31-Dec-2025", "2025-12-31"),
        ("31-Dec-25", "2025-12-31"),
        ("31. Dezember 2025", "2025-12-31"),
        ("5. März 2024", "2024-03-05"),
        ("14. Jan. 2026", "2026-01-14"),
        ("3 Jänner 2024", "2024-01-03"),
        ("December 31, 2025", "2025-12-31"),
        ("August 3 , 2014", "2014-08-03"),
        ("Dec. 31st, 2025", "2025-12-31"),
        ("May 5 2014", "2014-05-05"),
        ("31 December 2025", "2025-12-31"),
        ("15th day of January 2018", "2018-01-15"),
        ("15t h day of January 2018", "2018-01-15"),
        ("1st day of May, 1999", "1999-05-01"),
        ("1er janvier 2025", "2025-01-01"),
        ("14 août 2025", "2025-08-14"),
        ("29.02.2024", "2024-02-29"),
        ("March 2025", "2025-03"),
        ("Oktober 2025", "2025-10"),
    ],
)
def test_one_way_to_read(text: str, value: str) -> None:
    assert found(f"am {text} in") == [(text, value)]


@pytest.mark.parametrize(
    "text",
    [
        "32.13.2025",
        "29.02.2023",
        "1.2.3.4",
        "Version 1.2.2025.3",
        "12:30",
        "1/2",
        "99/99/2025",
        "maybe 2025x",
        "v31.12.2025",
    ],
)
def test_no_date(text: str) -> None:
    assert found(text) == []


def test_month_first_or_day_first() -> None:
    english = "This is the date of the contract and it is for you: 3/4/2025"
    german = "Das ist der Tag, an dem die Parteien sich nicht einig sind: 3/4/2025"
    assert found(english)[0][1] == "2025-03-04"
    assert found(german)[0][1] == "2025-04-03"
    assert found(english + " and 25/4/2025")[0][1] == "2025-04-03", "the document shows its order"


def notes(text: str) -> list[str | None]:
    return [value.note for value in VALUES["date"](text, read_habits(text))]


def test_what_is_noted() -> None:
    assert notes("3/4/2025") == ["ambiguous, read as day/month"]
    assert notes("3/4/2025 12/25/2025") == [None, None]
    assert notes("4/4/2025") == [None]
    assert notes("1.2.25") == ["the year 25 was read as 2025"]
    assert notes("March 2025") == ["no day given"]
