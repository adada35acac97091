"""E-mail addresses, telephone numbers, account numbers, references, text, and what users look for."""

import pytest

from pipeline.errors import DocumentError, Failure
from pipeline.text.values import VALUES, Reading, base, check_pattern
from pipeline.text.values.base import pattern_finder
from pipeline.text.values.codes import check_digits_hold


def found(name: str, text: str) -> list[tuple[str, str]]:
    return [(text[v.start : v.end], v.value) for v in VALUES[name](text, Reading())]


@pytest.mark.parametrize(
    ("text", "verbatim", "value"),
    [
        ("Max.Muster@Example.COM", "Max.Muster@Example.COM", "Max.Muster@example.com"),
        ("<jo+x@mail.example.org>,", "jo+x@mail.example.org", "jo+x@mail.example.org"),
        ("Schreiben Sie an müller@bücher.de.", "müller@bücher.de", "müller@bücher.de"),
        ("mailto:a@b.co", "a@b.co", "a@b.co"),
    ],
)
def test_email(text: str, verbatim: str, value: str) -> None:
    assert found("email", text) == [(verbatim, value)]


@pytest.mark.parametrize("text", ["a@b", "x..y@z.de", "@example.com", "a@-b.de", "a b"])
def test_no_email(text: str) -> None:
    assert found("email", text) == []


@pytest.mark.parametrize(
    ("text", "verbatim", "value"),
    [
        ("Tel. +49 (0)89 123456-0", "+49 (0)89 123456-0", "+49891234560"),
        ("0049 89 1234567", "0049 89 1234567", "+49891234567"),
        ("Tel.: 089/1234567", "089/1234567", "0891234567"),
        ("Fax 12345678", "12345678", "12345678"),
        ("(870)-931-0505", "(870)-931-0505", "8709310505"),
        ("call +1 650 555 0100.", "+1 650 555 0100", "+16505550100"),
    ],
)
def test_phone(text: str, verbatim: str, value: str) -> None:
    assert found("phone", text) == [(verbatim, value)]


@pytest.mark.parametrize(
    "text", ["31.12.2025", "1.234.567", "2019-2020", "DE89 3704 0044 0532 0130 00", "12345678", "3.14159265"]
)
def test_no_phone(text: str) -> None:
    assert found("phone", text) == []


@pytest.mark.parametrize(
    "iban",
    [
        "DE89 3704 0044 0532 0130 00",
        "DE89370400440532013000",
        "GB82 WEST 1234 5698 7654 32",
        "FR1420041010050500013M02606",
    ],
)
def test_iban(iban: str) -> None:
    assert found("iban", f"IBAN:{iban} BIC COBADEFF") == [(iban, iban.replace(" ", ""))]


@pytest.mark.parametrize(
    "text", ["DE89 3704 0044 0532 0130 01", "XX89370400440532013000", "DE8937040044053201300", "DE89" * 9]
)
def test_no_iban(text: str) -> None:
    assert found("iban", text) == []


def test_every_single_wrong_digit_of_an_iban_is_noticed() -> None:
    iban = "DE89370400440532013000"
    assert check_digits_hold(iban)
    for place in range(2, len(iban)):
        for digit in "0123456789":
            if digit != iban[place]:
                assert not check_digits_hold(iban[:place] + digit + iban[place + 1 :])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Rechnung Nr. 2025-0042", "2025-0042"),
        ("INV/2023/03/0008.", "INV/2023/03/0008"),
        ("Az.: 12 O 345/24", "12 O 345/24"),
        ("#BLR_WFLD20151000982590", "#BLR_WFLD20151000982590"),
        ("USt-Id DE123456789", "DE123456789"),
    ],
)
def test_reference(text: str, value: str) -> None:
    assert [v for _, v in found("reference", text)] == [value]


@pytest.mark.parametrize(
    "text",
    [
        "31.12.2025",
        "2025-12-31",
        "1.234,56 €",
        "v2",
        "on 3rd",
        "12:30",
        "a@b1.de",
        "www.x1.de",
        "ABC",
        "notbase64",
        "Covid19",
        "iVBORw0KGgoAAAANSUhEUgAAAAUA",
        "aGVsbG8gd29ybGQ0Mg==",
    ],
)
def test_no_reference(text: str) -> None:
    assert found("reference", text) == []


def test_text() -> None:
    assert found("text", "Governing law: Germany") == [("Germany", "Germany")]
    assert found("text", "Name | Max\u00a0Muster") == [("Max\u00a0Muster", "Max Muster")]
    assert found("text", "a | b | c") == [("a | b | c", "a | b | c")]
    assert found("text", "Es regnet\nheute. Ja.") == [("Es regnet\nheute.", "Es regnet heute."), ("Ja.", "Ja.")]
    assert found("text", "Kunde:\nErna Meier") == [("Erna Meier", "Erna Meier")]
    assert [v.sure for v in VALUES["text"]("Total: 12,50\n4. Liability\nAcme Ltd", Reading())] == [False, False, True]


@pytest.mark.parametrize(
    "text",
    [
        "Guten Tag,",
        "Sehr geehrte Frau Dr. Müller,",
        "Dear Mr. Smith,",
        "Mit freundlichen Grüßen",
        "Name: | Datum:",
        "| Feld | Wert |\n|---|---|",
    ],
)
def test_lines_that_say_nothing(text: str) -> None:
    assert found("text", text) == []


def test_the_head_of_a_table_is_no_text() -> None:
    table = "Fallnummer | Datum | Befund\nF-1 | 1.2.2025 | gut\nF-2 | 2.2.2025 | schlecht"
    assert [value for _, value in found("text", table)] == ["F-1 | 1.2.2025 | gut", "F-2 | 2.2.2025 | schlecht"]
    assert found("text", "Dear colleagues are rare. Stay.")[0][1] == "Dear colleagues are rare."
    assert found("text", "[3].Name: Erna Meier") == [("Erna Meier", "Erna Meier")]


@pytest.mark.parametrize(
    "text",
    [
        "200,00 €",
        "EUR 450",
        "Tue, 13 Oct 2026 08:00:00 +0200",
        "12,5 %",
        "um 8 Uhr",
        "at 5 pm",
        "12 O 345/24",
        "IBAN DE89 3704 0044 0532 0130 00",
        "+49 391 555-0123",
    ],
)
def test_parts_of_other_values_are_no_numbers(text: str) -> None:
    assert found("number", text) == []


def test_numbers_beside_other_values() -> None:
    assert found("number", "17 beds, 200,00 €, 4711 and 3.5") == [("17", "17"), ("4711", "4711"), ("3.5", "3.5")]


def test_patterns() -> None:
    def values(expression: str, text: str) -> list[str]:
        return [v.value for v in pattern_finder(expression)(text, Reading())]

    assert values(r"PO-\d{5}", "PO-12345, PO-1 and PO-54321") == ["PO-12345", "PO-54321"]
    assert values(r"Order: (\w+)", "Order: A7") == ["A7"]
    assert values(r"^\d+$", "1\n2x\n3") == ["1", "3"]
    assert values(r"x*", "ab") == []
    assert values(r"(a)|b", "ab") == ["a", "b"]


def test_a_bad_pattern_is_refused_with_its_place() -> None:
    with pytest.raises(ValueError, match=r"'\(a' is no regular expression: missing \) at position 2"):
        check_pattern("(a")


def test_a_pattern_that_explodes_fails_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_SECONDS", 0.05)
    with pytest.raises(DocumentError, match="took longer") as caught:
        list(pattern_finder(r"(?:x+x+)+y")("x" * 5000, Reading()))
    assert caught.value.failure is Failure.TIMEOUT


@pytest.mark.parametrize(
    "text", ["Invoice no. VF1005193039", "Rechnungsnummer: RE-2025-77", "Facture n°562044387", "Faktura nr: 77/2021"]
)
def test_the_number_of_an_invoice_has_cues(text: str) -> None:
    ((value,), other) = VALUES["reference"](text, Reading()), VALUES["reference"]("order 4711-A", Reading())
    assert {"invoice", "number"} <= set(value.cues)
    assert [one.cues for one in other] == [()]
    assert value.value in text
