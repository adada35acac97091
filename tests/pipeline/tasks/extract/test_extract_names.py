"""Extract: titles and organisations, several values of a field, its own threshold, words in passages."""

from typing import Any

from pipeline.document import Span
from pipeline.tasks import ExtractSettings, Field, from_json, to_json
from pipeline.tasks.extract.naming import Layout, Lexical
from tests.pipeline.tasks.conftest import Ask

CONTRACT = """EXHIBIT 10.3

SUPPLY AGREEMENT

This Supply Agreement is made as of May 5, 2020 by and between North Mills, Inc., a Delaware corporation ("Mills"),
and Ada Whitworth ("Designer"). It follows that certain Services Agreement dated as of June 7, 2019 with Other Ltd.

WHEREAS Mills sells flour; it is shipped by Old Rail Ltd. from Leeds.

The term of this Agreement shall be five years. Mills pays each month.

This Agreement shall be governed by the laws of the State of Texas."""
TITLE = Field("name", "title", "name of the contract")
PARTIES = Field("parties", "organisation", "parties to the contract", many=True)
LAW = Field("law", "text", "governed by the laws of")


def rows_of(ask: Ask, text: str, *fields: Field) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ask(ExtractSettings(fields), text).columns["fields"]
    for row in rows:
        if place := row["evidence"]:
            assert text[place["start"] : place["end"]] == place["text"] == row["verbatim"]
    return rows


def test_what_a_contract_is_called_and_who_made_it(ask: Ask) -> None:
    date = Field("date", "date", "date of the agreement")
    rows = rows_of(ask, CONTRACT, TITLE, PARTIES, date, LAW)
    assert [(row["name"], row["value"]) for row in rows] == [
        ("name", "SUPPLY AGREEMENT"),
        ("parties", "North Mills, Inc."),
        ("parties", "Ada Whitworth"),
        ("date", "2020-05-05"),
        ("law", "This Agreement shall be governed by the laws of the State of Texas."),
    ]


def test_a_party_is_found_by_what_the_contract_calls_it(ask: Ask) -> None:
    rows = rows_of(ask, CONTRACT, Field("designer", "organisation"), Field("mills", "organisation"))
    assert [row["value"] for row in rows] == ["Ada Whitworth", "North Mills, Inc."]


def test_without_many_there_is_one_value_and_with_it_each_once(ask: Ask) -> None:
    assert len(rows_of(ask, CONTRACT, Field("parties", "organisation"))) == 1
    twice = f"{CONTRACT}\n\nSigned: NORTH MILLS, INC."
    assert [row["value"] for row in rows_of(ask, twice, PARTIES)] == ["North Mills, Inc.", "Ada Whitworth"]


def test_a_field_of_many_without_a_value_has_one_element_with_the_reason(ask: Ask) -> None:
    rows = rows_of(ask, "Nothing of the kind.", PARTIES)
    assert [(row["name"], row["value"], row["note"]) for row in rows] == [
        ("parties", None, "nothing in the document has the type organisation")
    ]


def test_a_threshold_of_its_own(ask: Ask) -> None:
    given = rows_of(ask, CONTRACT, Field("name", "title", threshold=0.5))[0]
    assert given["value"] == "SUPPLY AGREEMENT"
    held = rows_of(ask, CONTRACT, Field("parties", "organisation", "buyer", threshold=1.0))[0]
    assert held["value"] is None
    assert held["evidence"] is None
    assert held["note"] == f"nothing that fits well enough; nearest was 'North Mills, Inc.' ({held['score']:.2f})"
    assert held["score"] < 1.0


def test_two_fields_may_have_a_value_that_its_cues_give_to_both(ask: Ask) -> None:
    text = "This Agreement is made and effective as of May 5, 2020 between us. We met on June 7, 2021."
    both = (Field("signed", "date", "date of the agreement"), Field("effective", "date", "effective date"))
    assert [row["value"] for row in rows_of(ask, text, *both)] == ["2020-05-05", "2020-05-05"]


def test_keys_that_are_left_out_are_not_among_the_settings() -> None:
    old = {"type": "extract", "fields": [{"name": "a", "type": "text", "description": "", "pattern": None}]}
    assert to_json(ExtractSettings((Field("a"),))) == old
    new = ExtractSettings((Field("a", "organisation", many=True, threshold=0.0),))
    assert to_json(new)["fields"][0]["many"] is True
    assert to_json(new)["fields"][0]["threshold"] == 0.0
    assert from_json(to_json(new)) == new


def test_words_of_a_description_in_passages() -> None:
    lexical = Lexical(
        ["It is governed by the laws of Texas.", "We pay each month.", "The law of averages is not ours."]
    )
    first, second, third = lexical.likenesses("governing law")
    assert 1.0 > first > third > second
    assert second == 0.0
    assert lexical.likenesses("of the") == [0.0, 0.0, 0.0]
    assert Lexical([]).likenesses("law") == []


def test_the_heads_of_columns_without_bars_name_the_first_and_the_last_value() -> None:
    text = "Order Customer date Invoice\nSC030 SC044 VF1005193039"
    layout, whole = Layout(text), Span(0, len(text))
    at = text.index("VF")
    assert layout.around(at, len(text), whole).above == ("date", "invoice")
    assert layout.around(at, len(text), whole).before == ("sc044", "sc030")
    assert layout.around(text.index("SC030"), text.index("SC030") + 5, whole).above == ("order", "customer")
    assert layout.around(text.index("SC044"), text.index("SC044") + 5, whole).above == ()
