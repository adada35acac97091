"""PDF: text that a reader of pages sees and a reader of bytes may lose: odd boxes, soft hyphens, locked attachments."""

import pytest

from pipeline.errors import Failure
from tests.pdf_files import one_page, raw_pdf, stream, with_font

_TEXT = b"BT /F 24 Tf 72 700 Td (Hello there) Tj ET"
_NO_BOXES = (b"[0 0 0 0]", b"[nan 0 600 800]", b"[1 2 3]", b"null", b"[0 0 (a) 800]", b"[0 0 600 0]")
_BESIDE = b"/CropBox [1000 1000 1200 1300]"
_SOFT = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def
1 begincodespacerange <00> <FF> endcodespacerange
2 beginbfrange <20> <2C> <0020> <2E> <7E> <002E> endbfrange
1 beginbfchar <2D> <00AD> endbfchar endcmap end end"""
"""What a font says whose hyphen is a soft one."""


@pytest.mark.parametrize(
    "crop", [_BESIDE, b"/CropBox [-9 -9 -5 -5]", b"/CropBox [600 0 1200 800]", b"/CropBox [600 800 0 0]",
             b"/CropBox [nan nan 5 5]", b"/CropBox [0 0 0 0]", b"/CropBox (none)"],
)  # fmt: skip
def test_a_crop_box_that_leaves_nothing_counts_as_none(parse, crop: bytes) -> None:
    parsed = parse(one_page(_TEXT, crop))
    assert (parsed.text, parsed.hidden) == ("Hello there", ())


@pytest.mark.parametrize("media", [*_NO_BOXES, b"[600 800 0 0]"])
@pytest.mark.parametrize("crop", [b"", _BESIDE])
def test_a_media_box_that_is_none_counts_as_letter(parse, media: bytes, crop: bytes) -> None:
    parsed = parse(one_page(_TEXT, crop).replace(b"[0 0 600 800]", media.ljust(13)))
    assert (parsed.text, parsed.hidden) == ("Hello there", ())


def test_what_a_valid_crop_box_cuts_off_stays_hidden(parse) -> None:
    parsed = parse(one_page(_TEXT + b" BT /F 24 Tf 72 100 Td (Seen) Tj ET", b"/CropBox [0 0 600 400]"))
    assert parsed.text == "Seen"
    assert [one.kind for one in parsed.hidden] == ["off_page"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"(a not-for-profit under its By-Laws, rule 12b-2) Tj", "a not-for-profit under its By-Laws, rule 12b-2"),
        (b"(a - b, -5) Tj", "a - b, -5"),
        (b"(- one) Tj T* (- two) Tj", "- one\n- two"),
        (b"(the infor-) Tj T* (mation here) Tj", "the information here"),
        (b"(the non-) Tj T* (Refundable part) Tj", "the non-Refundable part"),
    ],
)
def test_a_soft_hyphen_that_is_drawn_is_a_hyphen(parse, content: bytes, text: str) -> None:
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>"
    page = with_font(b"BT /F 12 Tf 14 TL 72 700 Td " + content + b" ET", font, stream(_SOFT))
    assert parse(page).text == text


def _with_attachment(attached: bytes, filters: bytes) -> bytes:
    """A document that opens for everybody, whose attachment has been encrypted with a password (AES, as /V 4 has it).

    Nobody reads its /O and /U, for no stream that is read goes through the filter.
    """
    document = raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [(a) 6 0 R] >> >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
        b"/Resources << /Font << /F 5 0 R >> >> >>",
        stream(_TEXT),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Filespec /F (plan.txt) /UF (plan.txt) /EF << /F 7 0 R >> >>",
        stream(attached, b"/Type /EmbeddedFile"),
        b"<< /Filter /Standard /V 4 /R 4 /Length 128 /P -4 /O <%s> /U <%s> /CF << /StdCF << /CFM /AESV2 "
        b"/AuthEvent /EFOpen /Length 16 >> >> %s >>" % (b"4f" * 32, b"55" * 32, filters),
    )
    return document.replace(b"/Root 1 0 R", b"/Root 1 0 R /Encrypt 8 0 R /ID [<30> <30>]")


def test_an_attachment_that_alone_is_encrypted_says_so(parse_members) -> None:
    locked = bytes(range(7, 39)) * 4
    parsed, members = parse_members(_with_attachment(locked, b"/StmF /Identity /StrF /Identity /EFF /StdCF"))
    assert parsed.text == "Hello there"
    assert members == {"plan.txt": Failure.ENCRYPTED}
    _, members = parse_members(_with_attachment(b"in the open", b"/StmF /Identity /StrF /Identity /EFF /Identity"))
    assert members == {"plan.txt": b"in the open"}


def test_an_encrypted_payload_of_a_wrapper_says_so(parse_members) -> None:
    wrapper = _with_attachment(b"\x07\x91 of some handler", b"")
    wrapper = wrapper.replace(b"/Encrypt 8 0 R", b"").replace(b"/UF (plan.txt)", b"/AFRelationship /EncryptedPayload")
    _, members = parse_members(wrapper)
    assert members == {"plan.txt": Failure.ENCRYPTED}
