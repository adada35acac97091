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
        ("18 april 2014", "2014-04-18"),
        ("29 maart 2014", "2014-03-29"),
        ("5 mei 2021", "2021-05-05"),
        ("2e mei 2022", "2022-05-02"),
        ("12-mrt-2023", "2023-03-12"),
        ("5 de mayo de 2024", "2024-05-05"),
        ("21 de janeiro de 2020", "2020-01-21"),
        ("1º maggio 2023", "2023-05-01"),
        ("3 stycznia 2021", "2021-01-03"),
        ("12 listopada 2020", "2020-11-12"),
        ("3. lipnja 2021", "2021-06-03"),
        ("2. ledna 2019", "2019-01-02"),
        ("5. toukokuuta 2024", "2024-05-05"),
        ("5. mai 2024", "2024-05-05"),
        ("2024. május 5", "2024-05-05"),
        ("2024 m. gegužės 5 d.", "2024-05-05"),
        ("2024. gada 5. maijā", "2024-05-05"),
        ("15 Ιανουαρίου 2024", "2024-01-15"),
        ("5 май 2024", "2024-05-05"),
        ("1st day of May, 2020", "2020-05-01"),
        ("1st  day of JUNE , 2006", "2006-06-01"),
        ("7t h day of April, 2020", "2020-04-07"),
        ("1s t day of October 2008", "2008-10-01"),
        ("first day of May, 2020", "2020-05-01"),
        ("twenty-first day of May 2020", "2020-05-21"),
        ("January 1,2000", "2000-01-01"),
        ("December\n1, 1990", "1990-12-01"),
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
        "not long ago 2019 was",
        "He agreed.\n10.3.15 Party B shall pay",
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


def cues(text: str) -> list[set[str]]:
    return [set(value.cues) for value in VALUES["date"](text, read_habits(text))]


def test_what_a_contract_says_of_its_dates() -> None:
    signed, effective, ending = {"agreement", "signed"}, {"effective", "start"}, {"expiration", "end"}
    assert signed <= cues("This Agreement is made and entered into as of May 5, 2020 by A")[0]
    assert signed | effective <= cues('dated and effective as of May 5, 2020 (the "Effective Date")')[0]
    assert effective <= cues('It begins. This is of May 5, 2020 (the "Effective Date").')[0]
    assert effective <= cues("The term shall commence on May 5, 2020.")[0]
    assert ending <= cues("and shall expire on May 5, 2020.")[0]
    assert not signed & cues("that certain Services Agreement dated as of May 5, 2020")[0]
    assert cues("We met on May 5, 2020.") == [set()]


def test_what_an_invoice_says_of_its_date() -> None:
    text = "Facture n° 562 du 2 juillet 2015\nDate limite de paiement le 5 juillet 2015"
    first, second = cues(text)
    assert "facture" in first
    assert "facture" not in second


def test_dashes_show_the_order_too() -> None:
    assert found("This is for the date of you and it is 8-9-2022, then 22-9-2022")[0][1] == "2022-09-08"
