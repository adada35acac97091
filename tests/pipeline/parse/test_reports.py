"""Inputs after public bug reports of other projects, each as it should come out: one test a row of `expected.md`.

The files lie in the folder documents/reports of CLOISTER_DATA. What each row is a case of is tested with files of our
own beside the format that it concerns; names in watched folders and models without a chat template by their commands.
"""

import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse import ParserPool
from pipeline.parse.options import Options
from tests.pipeline.parse.conftest import parse_in

Read = Callable[[str], Parsed]


@pytest.fixture
def read(pool: ParserPool, data_folder: Path) -> Read:
    """read("1-text/wbr.html") -> Parsed"""

    def read(name: str) -> Parsed:
        path = data_folder / "documents/reports" / name
        return parse_in(pool, path.read_bytes(), path.name)

    return read


@pytest.mark.parametrize(
    ("name", "there", "not_there"),
    [
        ("wbr.html", ["The password is 4711 and the IBAN is DE8937040044."], []),
        ("wbr2.html", ["Kontonummer | DE893704", "Betrag | 5"], []),
        ("money_sup.html", ["EUR 1,240^1", "EUR 950^2"], ["1,2401", "9502"]),
        ("sup.html", ["EUR 1,000^1", "2026^2)", "120 m^2", "10^6 cells", "H2O", "EUR 950"], ["106", "1,0001"]),
        ("superscript.docx", ["EUR 1,000^1", "120 m^2", "CO2", "30 June 2026^3"], ["1,0001", "20263"]),
        ("sup.pdf", ["^"], ["1,2401", "1,0001", "109/l", "20261", "20262"]),
        ("sym.docx", ["[x] yes", "[ ] no", "β-test", "≥10 mg", "[x] accepted", "µg"], ["F0", "mg accepted", "\uf06d"]),
        ("sym_dose.docx", ["5 µg daily", "CRP ≥ 10 mg/l"], ["5 mg daily"]),
        ("formdropdown.docx", ["Kind of contract: Lease", "Other: Employment", "Agreed: [x] yes"], ["Purchase"]),
        ("placeholder.docx", ["Name:", "Date: 1 May 2026"], ["Click or tap"]),
        ("strike.docx", ["950.00", "six months", "~~900.00~~", "~~three~~"], []),
        ("backslash.docx", ["Backslash names inside"], []),
        ("flatopc.xml", ["The rent is EUR 950."], ["hidden secret"]),
        ("escapes.xlsx", ["line next A end_x000D_"], ["_x000D_\n", "_x005F_"]),
        ("formats.xlsx", ["01234", "19%", "7.25%", "1,240.50 EUR", "3 Std."], []),
        ("tablecols.pdf", ["1 | Stuhl | 120,00"], ["123"]),
        ("w14check.docx", ["[x] I agree [ ] I do not"], []),
        ("mathml_ruby_misc.html", ["1/2", "word", "山田(やまだ)"], ["山田やまだ"]),
    ],
)
def test_the_text_is_what_a_person_reads(read: Read, name: str, there: list[str], not_there: list[str]) -> None:
    text = read(f"1-text/{name}").text
    assert [one for one in there if one not in text] == []
    assert [one for one in not_there if one in text] == []


def test_struck_out_text_is_noted(read: Read) -> None:
    for name in ("strike.docx", "sup.html"):
        assert any("struck-out" in note for note in read(f"1-text/{name}").notes)


def test_symbols_raised_and_struck_out_text_of_a_slide(read: Read) -> None:
    parsed = read("1-text/symbol_sup_strike_alt.pptx")
    assert "~~" in parsed.text
    assert "^" in parsed.text
    assert not any("\uf000" <= one <= "\uf0ff" for one in parsed.text)


def test_a_bound_control_shows_the_bound_value(read: Read) -> None:
    parsed = read("1-text/databound.docx")
    assert "Tenant: Nordwind Energie GmbH" in parsed.text
    assert "Click or tap" not in parsed.text


def test_hidden_text_of_a_flat_package_is_counted(read: Read) -> None:
    assert [(one.kind, one.characters) for one in read("1-text/flatopc.xml").hidden] == [("marked_hidden", 12)]


def test_text_of_fonts_that_say_their_characters_is_believed(read: Read) -> None:
    for name in ("k2.pdf", "parts2pages.pdf"):
        parsed = read(f"1-text/{name}")
        assert (parsed.notes, parsed.images, parsed.unsure) == ((), (), ())


def test_columns_are_read_one_after_the_other(read: Read) -> None:
    lines = [line for line in read("1-text/columns.pdf").text.splitlines() if line.strip()]
    assert len(lines) == 20


def test_a_medical_picture_is_named(read: Read) -> None:
    with pytest.raises(DocumentError, match="DICOM") as raised:
        read("1-text/dicom.dcm")
    assert raised.value.failure is Failure.UNSUPPORTED


def test_stored_results_that_were_never_computed_are_not_believed(read: Read) -> None:
    text = read("1-text/xlsxwriter_zero.xlsx").text
    assert "VAT | 19" in text
    assert "Total due | 119" in text


def test_a_page_drawn_as_outlines_is_no_page_of_five_words(read: Read) -> None:
    parsed = read("1-text/outlines_mix.pdf")
    assert parsed.unsure or parsed.images


@pytest.mark.parametrize(
    ("name", "there", "not_there"),
    [
        ("stub_plain.eml", ["RE-2026-0815", "EUR 1,240.00", "30 November 2026"], []),
        ("plain_short.eml", ["RE-2026-0816", "EUR 990.00"], []),
        (
            "flowed.eml",
            [
                "EUR 1,240.00 and has to be paid by 30 November 2026 to the account DE89 3704 0044 0532 0130 00.",
                "\nFrom space-stuffed line",
            ],
            [],
        ),
        ("flowed_delsp.eml", ["reference number RE-2026-4417", "Dampfschifffahrtsvertrag"], []),
        ("uu_inline.eml", ["see attached"], ["begin 644", "62&5L"]),
        ("ext_body.eml", ["https://example.org/contract.pdf"], []),
        ("cal_alt.eml", ["Die Kaution beträgt 2.400 EUR.", "Los 7, Raum 2"], ["\\n", "Kaut\n"]),
        ("invite.ics", ["Die Kaution beträgt 2.400 EUR.", "Los 7, Raum 2"], ["\\n", "Kaut\n"]),
        ("cs_utf7.eml", ["Grüße: 5 €"], ["+AP"]),
    ],
)
def test_a_mail_says_what_mail_programs_show(read: Read, name: str, there: list[str], not_there: list[str]) -> None:
    text = read(f"2-mail/{name}").text
    assert [one for one in there if one not in text] == []
    assert [one for one in not_there if one in text] == []


def test_a_file_within_the_text_of_a_mail_is_a_document(pool: ParserPool, data_folder: Path) -> None:
    data = (data_folder / "documents/reports/2-mail/uu_inline.eml").read_bytes()
    assert everything(pool, data, "uu_inline.eml")[1] == ["note.txt"]


@pytest.mark.parametrize("name", ["tnef.eml", "winmail.dat"])
def test_what_outlook_packs_is_read_or_named(read: Read, name: str) -> None:
    parsed = read(f"2-mail/{name}")
    inside = [one.reason or "" for one in parsed.members]
    assert "attached contract is to be signed" in parsed.text or any("TNEF" in one for one in inside)


def test_a_cipher_in_a_mail_is_left_out_and_told(read: Read) -> None:
    parsed = read("2-mail/pgp_after.eml")
    assert "AAECAwQF" not in parsed.text
    assert parsed.unsure


@pytest.mark.parametrize("name", ["sig_octet2.eml", "smime_of_msg.p7m"])
def test_signed_content_is_a_mail_with_what_is_attached(pool: ParserPool, data_folder: Path, name: str) -> None:
    text, names = everything(pool, (data_folder / "documents/reports/2-mail" / name).read_bytes(), name)
    assert "Die Kündigung des Vertrags 4711 liegt bei." in text
    assert "k.txt" in names


def everything(pool: ParserPool, data: bytes, name: str) -> tuple[str, list[str]]:
    """The text of a document and of those inside it, and the names of these."""
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as out:
        file.write(data)
        file.flush()
        parsed = pool.parse(file.fileno(), name, Options(), out.fileno())
        text, names = parsed.text, []
        for one in parsed.members:
            names.append(one.name)
            if one.offset is not None and not one.name.endswith(".txt"):
                inner, more = everything(pool, os.pread(out.fileno(), one.size, one.offset), one.name)
                text, names = text + inner, [*names, *more]
    return text, names


def test_a_chinese_name_in_an_archive(pool: ParserPool, data_folder: Path) -> None:
    data = (data_folder / "documents/reports/3-archives/gbk.zip").read_bytes()
    assert everything(pool, data, "gbk.zip")[1] == ["合同.txt"]


def test_one_bad_place_spoils_no_text(read: Read) -> None:
    assert read("4-encodings/iso2022jp_nec.txt").text == "契約書 No. ① 4711"
    emoji = read("4-encodings/utf8_emoji_surr.txt")
    assert emoji.encoding == "utf-8"
    assert "Räume sind geprüft" in emoji.text
    assert emoji.notes
    for name in ("utf8_trunc.txt", "mixed_enc.txt"):
        parsed = read(f"4-encodings/{name}")
        assert parsed.text.startswith("Grüße")
        assert parsed.notes


@pytest.mark.parametrize("kind", ["TIFF", "PPM", "TGA", "JPEG2000"])
def test_pictures_of_text_are_read_as_pictures(recognise: Callable[..., Parsed], kind: str) -> None:
    """What the script of the folder makes, made here, so that it needs no files."""
    page = Image.new("L", (1240, 400), 255)
    for place, line in enumerate(["Lease agreement between Nordwind Energie", "The monthly rent is EUR 950.00"]):
        ImageDraw.Draw(page).text((100, 100 + 70 * place), line, fill=0, font=ImageFont.load_default(size=36))
    buffer = io.BytesIO()
    page.save(buffer, kind, **({"big_tiff": True} if kind == "TIFF" else {}))
    parsed = recognise(buffer.getvalue(), "scan")
    assert "monthly rent is EUR 950.00" in parsed.text
