"""Names of organisations and titles of documents, cut to the name."""

import pytest

from pipeline.text.values import VALUES, Value, read_habits
from pipeline.text.values.organisation import PARTY, SENDER


def values(kind: str, text: str) -> list[Value]:
    return list(VALUES[kind](text, read_habits(text)))


def names(text: str) -> list[str]:
    return [value.value for value in values("organisation", text) if value.sure]


def parties(text: str) -> list[str]:
    found = [value for value in values("organisation", text) if set(PARTY) <= set(value.cues)]
    for value in found:
        assert " ".join(text[value.start : value.end].split()) == value.value
    return [value.value for value in found]


@pytest.mark.parametrize(
    "name",
    [
        "Acme Tools Ltd",
        "Acme Tools, Inc.",
        "Gridiron BioNutrients, Inc",
        "Florida Chemical Company, LLC",
        "Hunan Ruixi Financial Leasing Co., Ltd.",
        "Rise (Tianjin) Education Information Consulting Co., Ltd.",
        "Oaktree Capital Management, L.P.",
        "Bank of the West Corporation",
        "Müller & Söhne GmbH",
        "Stahlwerk Nord GmbH & Co. KG",
        "Deutsche Wälzlager AG",
        "Coolblue B.V.",
        "Philips Nederland N.V.",
        "Électricité du Nord S.A.",
        "Boulangerie Martin SARL",
        "Aceites del Sur S.L.",
        "Fratelli Rossi S.p.A.",
        "Officine Bianchi S.r.l.",
        "Polski Koncern Naftowy ORLEN spółka akcyjna",
        "Kone Oyj",
        "WOMEN.COM NETWORKS, INC.",
        "D2 Technologies, Inc.",
    ],
)
def test_a_name_with_its_legal_form(name: str) -> None:
    assert names(f"the goods of {name} were sent in May") == [name]
    assert names(f"Invoice\n{name}\n12 Mill Lane, Leeds") == [name]


@pytest.mark.parametrize(
    "text",
    [
        "The Company shall pay the Supplier.",
        "Acme is a Delaware corporation.",
        "It is a Nevada Corporation with seat in Reno.",
        "under the Investment Company Act of 1940",
        "Each Party and Such Company agree.",
        "AS IS AND AT YOUR OWN RISK",
    ],
)
def test_no_name(text: str) -> None:
    assert names(text) == []


def test_a_name_is_not_joined_with_the_sentence_before_it() -> None:
    assert names("They met in China. Blue River Trading Ltd. paid.") == ["Blue River Trading Ltd."]
    assert names("Acme Inc. and Beta Industries Ltd") == ["Acme Inc.", "Beta Industries Ltd"]


PREAMBLES = {
    "This Supply Agreement is made as of May 5, 2020 by and between NORTH MILLS, INC., a Delaware corporation with "
    "offices "
    'at 12 Elm Street, Austin, Texas ("Mills"), and Ada Whitworth, of Santa Fe, New Mexico (the '
    '"Designer").\n\nWHEREAS '
    "Mills sells flour": ["NORTH MILLS, INC.", "Ada Whitworth"],
    "Dienstleistungsvertrag\n\nzwischen der Stahlwerk Nord GmbH, Hafenstr. 1, Kiel (nachfolgend „Auftraggeber“) und "
    "der "
    "Lehmann Beratung AG, Ulm (nachfolgend „Auftragnehmer“)\n\nPräambel": [
        "Stahlwerk Nord GmbH",
        "Lehmann Beratung AG",
    ],
    "CONTRAT DE PRESTATION entre Boulangerie Martin SARL, Lyon (ci-après « le Client »), et Conseil Durand S.A.S., "
    "Paris "
    "(ci-après « le Prestataire »).": ["Boulangerie Martin SARL", "Conseil Durand S.A.S."],
    "Cooperation Agreement\nParty A: Harbin Steel Co., Ltd.\nAddress: 5 Lake Road\nParty B: Blue River Trading "
    "Ltd.\n": [
        "Harbin Steel Co., Ltd.",
        "Blue River Trading Ltd.",
    ],
    'SERVICES AGREEMENT\n\nBETWEEN:\n\nGREEN GOLD LIMITED, of 1 Main Street, London ("Green")\n\nAND:\n\nRED MINES '
    "PLC, "
    'of 2 Side Street, York ("Red")\n\nWHEREAS:\n\nA. The Company is large': ["GREEN GOLD LIMITED", "RED MINES PLC"],
}


@pytest.mark.parametrize("text", PREAMBLES)
def test_the_parties_of_a_contract(text: str) -> None:
    assert parties(text) == PREAMBLES[text]


def test_what_a_party_is_called_is_among_its_cues() -> None:
    text = 'AGREEMENT between Acme Ltd ("Licensor") and Beta Ltd, a company of York (the "Licensee").'
    found = {value.value: value.cues for value in values("organisation", text)}
    assert "licensor" in found["Acme Ltd"]
    assert "licensee" in found["Beta Ltd"]
    assert "licensee" not in found["Acme Ltd"]


def test_the_first_name_of_an_invoice_has_the_cues_of_its_sender() -> None:
    text = "Acme Tools Ltd\n1 Mill Lane\nInvoice 77\nBill to: Beta Works GmbH"
    first, second = values("organisation", text)
    assert set(SENDER) <= set(first.cues)
    assert not set(SENDER) & set(second.cues)


def title(text: str) -> str | None:
    return next((value.value for value in values("title", text) if value.sure), None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EXHIBIT 10.3\n\nSUPPLY AGREEMENT\n\nThis Agreement is made", "SUPPLY AGREEMENT"),
        ("EXHIBIT 10.3 SUPPLY AGREEMENT This Agreement, made by", "SUPPLY AGREEMENT"),
        ("FIRST AMENDMENT TO\n      DISTRIBUTOR AGREEMENT\n\nbetween", "FIRST AMENDMENT TO DISTRIBUTOR AGREEMENT"),
        ("Exhibit 1   Road Transportation Agreement   Party A: X", "Road Transportation Agreement"),
        ("Some words before. This Software License Agreement (the", "Software License Agreement"),
        ("ACME, INC. LICENSE AND SERVICES AGREEMENT", "LICENSE AND SERVICES AGREEMENT"),
        ("SERVICES AGREEMENT BETWEEN ACME AND BETA", "SERVICES AGREEMENT"),
        ("Hosting Agreement dated May 5, 2020", "Hosting Agreement"),
        ("Mietvertrag\nzwischen Anna Muster und", "Mietvertrag"),
        ("Contrat de prestation de services\nentre les soussignés", "Contrat de prestation de services"),
        ("# Annual report\n\nThe year was good.", "Annual report"),
        ("Arbeidsovereenkomst\n\nTussen", "Arbeidsovereenkomst"),
        ("Contratto di locazione\n\ntra", "Contratto di locazione"),
    ],
)
def test_a_title_is_cut_to_the_name(text: str, expected: str) -> None:
    assert title(text) == expected


def test_prose_has_no_title() -> None:
    assert title("The tenant agreed to pay. He signed the lease, and the agreement was sent to him.") is None


def test_finders_are_linear_on_hostile_text() -> None:
    for piece in ("A ", "Inc. ", "AGREEMENT ", '(the "', "between ", "A, and ", "Ltd and "):
        for kind in ("organisation", "title"):
            list(VALUES[kind](piece * 20_000, read_habits("")))
