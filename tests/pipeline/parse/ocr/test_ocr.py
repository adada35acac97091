"""Pictures of text: recognised where Tesseract is installed, and said to need it where not."""

import io
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from PIL import Image, ImageDraw, ImageFont

import audit
import pipeline
from pipeline.document import Picture
from pipeline.errors import DocumentError, Failure
from pipeline.parse import Limits, Options, ParserPool, Tesseract, find_tesseract
from pipeline.parse.ocr.tesseract import OcrError, Recognised, lacking, parse_recognised
from pipeline.plan import Ocr, RunPlan
from tests.pdf_files import with_font
from tests.pdf_scans import LINES, photograph, png, scan
from tests.pipeline.conftest import Witness

WORDS = "Invoice 2026 total due"
NUMBERS = ("first", "second", "third")
HEAD = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"


def picture(text: str = WORDS, kind: str = "PNG", pages: int = 1) -> bytes:
    frames = []
    for page in range(pages):
        frame = Image.new("L", (1400, 200), 255)
        ImageDraw.Draw(frame).text((40, 60), f"{text} {NUMBERS[page]}", fill=0, font=ImageFont.load_default(64))
        frames.append(frame)
    buffer = io.BytesIO()
    frames[0].save(buffer, kind, **({"save_all": True, "append_images": frames[1:]} if pages > 1 else {}))
    return buffer.getvalue()


@pytest.fixture(scope="module")
def tesseract() -> Tesseract:
    found = find_tesseract(())
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture
def scratch(tmp_path: Path, pool: ParserPool) -> Callable[[bytes, Options], tuple[object, int]]:
    """scratch(data, options) -> the parsed document and the descriptor of what was unpacked"""
    held = []

    def run(data: bytes, options: Options) -> tuple[object, int]:
        out = tempfile.TemporaryFile(dir=tmp_path)  # noqa: SIM115
        held.append(out)
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            return pool.parse(file.fileno(), "scan", options, out.fileno()), out.fileno()

    return run


def test_a_picture_needs_ocr_where_there_is_none(fail) -> None:
    for kind in ("PNG", "TIFF", "JPEG", "WEBP", "GIF", "BMP"):
        error = fail(picture(kind=kind))
        assert error.failure is Failure.NEEDS_OCR
        assert "image/" in error.reason


def test_pages_of_a_picture_are_given_as_grey_pixels(scratch) -> None:
    for kind, pages in (("PNG", 1), ("TIFF", 3), ("JPEG", 1)):
        parsed, out = scratch(picture(kind=kind, pages=pages), Options(images=True))
        assert [image.name for image in parsed.images] == [f"page {number + 1}" for number in range(pages)]
        for image in parsed.images:
            head, _, pixels = Path(f"/proc/self/fd/{out}").read_bytes()[image.offset :][: image.size].partition(b"\n")
            assert head == b"P5 1400 200 255"
            assert len(pixels) == 1400 * 200


def test_what_was_read_stands_for_the_page(scratch) -> None:
    parsed, _ = scratch(picture(pages=2, kind="TIFF"), Options(texts={"page 1": "one\n", "page 2": "two"}))
    assert parsed.text == "one\n\ntwo"
    assert parsed.page_starts == (0, 5)


def test_no_words_on_a_picture_are_an_empty_document(scratch) -> None:
    with pytest.raises(DocumentError) as raised:
        scratch(picture(), Options(texts={"page 1": " \n"}))
    assert raised.value.failure is Failure.EMPTY


@pytest.mark.parametrize("cut", [9, 60, 200])
def test_a_broken_picture_is_corrupt(scratch, cut: int) -> None:
    with pytest.raises(DocumentError) as raised:
        scratch(picture()[:cut], Options(images=True))
    assert raised.value.failure in {Failure.CORRUPT, Failure.NEEDS_OCR}


def test_a_picture_of_too_many_pixels(scratch) -> None:
    buffer = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(buffer, "PNG")
    with pytest.raises(DocumentError) as raised:
        scratch(buffer.getvalue(), Options(images=True))
    assert raised.value.failure is Failure.TOO_LARGE


def test_a_page_is_recognised(pool: ParserPool, scratch, tesseract: Tesseract) -> None:
    parsed, out = scratch(picture(kind="TIFF", pages=2), Options(images=True))
    texts, unread = pool.reader(tesseract).read(out, parsed.images)
    assert unread == {}
    assert texts["page 1"].split() == [*WORDS.split(), "first"]
    assert texts["page 2"].split() == [*WORDS.split(), "second"]
    assert pool.reader(tesseract).read(out, parsed.images)[0] == texts


def test_a_page_that_takes_too_long_or_is_no_picture_is_noted(tesseract: Tesseract, tmp_path: Path) -> None:
    file = tmp_path / "page"
    file.write_bytes(b"P5 10 10 255\n")
    with ParserPool(1, Limits(seconds=0.01)) as pool, file.open("rb") as source:
        texts, unread = pool.reader(tesseract).read(source.fileno(), [Picture("page 1", 0, 13)])
        assert (texts, unread) == ({}, {"page 1": "not recognised: it took too long"})
    with ParserPool(1, Limits(seconds=20)) as pool, file.open("rb") as source:
        texts, unread = pool.reader(tesseract).read(source.fileno(), [Picture("page 1", 0, 13)])
        assert texts.get("page 1", "") == ""


def test_a_program_may_read_its_own_files_and_nothing_else(pool: ParserPool, tmp_path: Path) -> None:
    """`cat` in the place of Tesseract: what it reads of the machine."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    reader = pool.reader(Tesseract("/bin/cat", "0", tmp_path, {}))
    if not pool.isolation["no_files"]:
        pytest.skip("no Landlock on this machine")
    with secret.open("rb") as source, pytest.raises(OcrError):  # its options are files that it cannot open
        reader._recognised(source.fileno())


def test_languages_that_are_not_there_are_named(tesseract: Tesseract) -> None:
    assert find_tesseract(["xyz"]) == f"Tesseract has no language xyz; it has {', '.join(tesseract.languages)}"
    chosen = next(iter(tesseract.languages))
    found = find_tesseract([chosen])
    assert isinstance(found, Tesseract)
    assert list(found.languages) == [chosen]
    assert len(found.languages[chosen]) == 64


def test_a_machine_without_tesseract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_tesseract(()) == "Tesseract is not installed"


def test_a_run_reads_pictures_and_says_with_what(plan: RunPlan, tesseract: Tesseract) -> None:
    plan = replace(plan, formats=("parquet",), input=replace(plan.input, ocr=Ocr()))
    (plan.input.folder / "scan.png").write_bytes(picture())
    assert pipeline.run(plan, observer=Witness()).counts["done"] == 1
    (row,) = pipeline.results(plan.site)
    assert row["parser"].endswith(tesseract.name)
    assert row["pages"] == 1
    entry = next(e for _, e in audit.read_entries(plan.site.audit, plan.site.public_key) if e["type"] == "document")
    assert entry["parse_options"]["ocr"] == tesseract.describe()
    assert pipeline.verify(plan.site).ok


def test_a_job_without_ocr_says_what_its_pictures_need(plan: RunPlan) -> None:
    plan = replace(plan, input=replace(plan.input, ocr=Ocr(enabled=False)))
    (plan.input.folder / "scan.png").write_bytes(picture())
    pipeline.run(plan, observer=Witness())
    (row,) = pipeline.results(plan.site)
    assert row["failure"] == "needs_ocr"
    plan = replace(plan, retry=frozenset({Failure.NEEDS_OCR}), input=replace(plan.input, ocr=Ocr()))
    if not isinstance(find_tesseract(()), str):
        assert pipeline.run(plan, observer=Witness()).counts["done"] == 1


def test_a_run_stops_between_two_pages(plan: RunPlan, tesseract: Tesseract) -> None:
    plan = replace(plan, input=replace(plan.input, ocr=Ocr()))
    (plan.input.folder / "scan.tiff").write_bytes(picture(kind="TIFF", pages=3))
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 4  # the scan, the feed and the first page are past by then

    report = pipeline.run(plan, observer=Witness(), stop=stop)
    assert (report.interrupted, report.counts["pending"]) == (True, 1)
    assert not list(plan.site.root.rglob(".staging"))
    assert pipeline.run(plan, observer=Witness()).counts["done"] == 1


def greek() -> bytes:
    """A picture of Greek words, in the letters of the Symbol font that every reader of PDF has."""
    words = ("h apofash kai h sumbash", "oroi kai proupoqeseis thj sumfwniaj", "plhrwmh mesa se trianta hmerej")
    text = b" ".join(b"(%s) Tj T*" % one.encode() for one in words)
    page = with_font(
        b"BT /F 20 Tf 40 TL 60 740 Td " + text + b" ET", b"<< /Type /Font /Subtype /Type1 /BaseFont /Symbol >>"
    )
    drawn = pdfium.PdfDocument(page)[0].render(scale=300 / 72).to_pil().convert("L").crop((0, 0, 2500, 1000))
    return png(drawn)


def test_a_script_that_is_not_installed_is_named_and_not_read(recognise, deu_eng: Tesseract) -> None:
    assert len(deu_eng.osd) == 64
    with pytest.raises(DocumentError) as raised:
        recognise(greek())
    assert raised.value.failure is Failure.NEEDS_OCR
    assert raised.value.reason == (
        "page 1 not read: its script looks like Greek, and it was read as deu+eng; install ell or grc, "
        "and name it in the job's ocr languages if it names any"
    )


def test_without_detection_of_scripts_what_was_not_read_says_so(pool: ParserPool, scratch, deu_eng: Tesseract) -> None:
    parsed, out = scratch(greek(), Options(images=True))
    texts, unread = pool.reader(replace(deu_eng, osd="")).read(out, parsed.images)
    assert texts == {}
    assert unread == {"page 1": "not read: no words were recognised as deu+eng; another language needs its data"}


def test_a_page_that_lies_on_its_side_is_turned(recognise) -> None:
    upright = Image.open(io.BytesIO(png(scan())))
    assert recognise(png(upright.rotate(90, expand=True))).text.split("\n")[0] == LINES[0]


def test_a_photograph_has_nothing_to_read(recognise) -> None:
    with pytest.raises(DocumentError) as raised:
        recognise(png(photograph()))
    assert raised.value.failure in {Failure.NEEDS_OCR, Failure.EMPTY}


@pytest.mark.parametrize(
    ("script", "languages", "needed"),
    [
        ("Han", ["deu", "eng"], "chi_sim or chi_tra or jpn"),
        ("Korean", ["eng"], "kor"),
        ("Cyrillic", ["eng"], "rus or ukr or bul, say"),
        ("Cyrillic", ["srp"], ""),
        ("Han", ["chi_tra_vert"], ""),
        ("Greek", ["script/Greek"], ""),
        ("Latin", ["deu"], ""),
        ("Fraktur", ["deu"], ""),
        ("", ["deu"], ""),
    ],
)
def test_what_a_script_needs(script: str, languages: list[str], needed: str) -> None:
    assert lacking(script, languages) == needed


def test_the_confidence_of_a_text_is_that_of_its_letters() -> None:
    line, one, other = "4\t1\t1\t1\t1\t0\t0\t0\t9\t9\t-1\t", "5\t1\t1\t1\t1\t1", "\t0\t0\t9\t9"
    table = [HEAD, line, f"{one}{other}\t90\tone", f"{one}{other}\t30\tt"]
    found = parse_recognised("\n".join([*table, "one t\n\nmore\n\f"]))
    assert found == Recognised("one t\n\nmore", (3 * 90 + 30) / 4)
    assert (found.is_sure, found.is_likely) == (False, True)
    assert parse_recognised("").is_sure
    assert not Recognised("ZeU HBe)S ]S13} O}=A nAz", 70.0).is_likely
    assert not Recognised("plain words", 50.0).is_likely
