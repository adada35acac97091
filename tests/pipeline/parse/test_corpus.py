"""Every real document ends as text or as a typed failure, and the text holds the words that another reader finds."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse import ParserPool
from tests.pipeline.parse.recall import (
    REQUIRED,
    REQUIRED_CUAD,
    REQUIRED_CUAD_EACH,
    contracts,
    overall,
    read,
    recalls,
    words,
)


@pytest.fixture(scope="module")
def outcomes(data_folder: Path, pool: ParserPool) -> dict[Path, Parsed | DocumentError]:
    files = sorted(path for path in (data_folder / "documents").rglob("*") if path.is_file())
    return {path: read(pool, path) for path in files if "groundtruth" not in path.parts}


def test_every_document_ends_as_text_or_as_a_typed_failure(outcomes: dict[Path, Parsed | DocumentError]) -> None:
    assert len(outcomes) > 400
    for path, outcome in outcomes.items():
        if isinstance(outcome, DocumentError):
            assert outcome.failure not in {Failure.CRASHED, Failure.TIMEOUT, Failure.OUT_OF_MEMORY}, (path, outcome)
        else:
            assert outcome.text.strip() or outcome.members, path
            assert outcome.text == outcome.text.encode().decode()
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]", outcome.text), path
            assert_places(path, outcome)


def assert_places(path: Path, parsed: Parsed) -> None:
    """Pages and sections ascend, lie within the text, and a place knows in which it stands."""
    starts, sections = list(parsed.page_starts), [section.start for section in parsed.sections]
    assert starts == sorted(starts), path
    assert sections == sorted(sections), path
    assert starts[:1] in ([], [0]), path
    for start in {*starts, *sections}:
        assert 0 <= start <= len(parsed.text), path
        evidence = parsed.evidence(start, start + 9)
        assert evidence.text == parsed.text[start : start + 9], path
        assert (evidence.page is None) == (not starts), path
    for section in parsed.sections:
        assert section.title.strip(), path
        assert (section.level >= 0, bool(section.kind)) == (True, True), path
        assert (parsed.section_of(section.start) or "").strip(), path


def test_encrypted_and_scanned_documents_are_called_so(outcomes: dict[Path, Parsed | DocumentError]) -> None:
    found = {path.name: outcome for path, outcome in outcomes.items()}
    for name in ("r6-user-password.pdf", "password.xls", "protectedFile.xlsx", "testODTEncrypted.odt"):
        assert failure(found[name]) is Failure.ENCRYPTED, name
    for name in ("ocr_test.pdf", "testOCR.pdf", "webp-test.webp", "testTIFF.tif"):
        assert failure(found[name]) is Failure.NEEDS_OCR, name
    for name in ("r6-empty-password.pdf", "r6-owner-password.pdf"):
        assert failure(found[name]) is None, name


def failure(outcome: Parsed | DocumentError) -> Failure | None:
    return outcome.failure if isinstance(outcome, DocumentError) else None


def test_encodings_are_recognised(data_folder: Path, outcomes: dict[Path, Parsed | DocumentError]) -> None:
    """Of the files whose folder names their encoding, all but a few read as if it had been said."""
    known = {"MacCyrillic": "mac_cyrillic", "TIS-620": "cp874", "iso-8859-1": "cp1252", "GB2312": "gb18030",
             "EUC-KR": "cp949", "SHIFT_JIS": "cp932"}  # fmt: skip
    right = total = 0
    for path, outcome in outcomes.items():
        if path.parents[1].name != "encodings" or path.suffix != ".txt":
            continue
        folder = path.parent.name
        encoding = known.get(folder, re.sub(r"-(?!1255)[a-z]{5,}$", "", folder))
        try:
            truth = path.read_bytes().decode(encoding)
        except (LookupError, UnicodeDecodeError):
            continue
        total += 1
        right += isinstance(outcome, Parsed) and words(outcome.text) == words(
            truth.replace(",", " ").replace("\x00", "")
        )
    print(f"encodings: {right} of {total} right")
    assert right >= 0.9 * total


def test_the_words_of_another_reader_are_found(
    outcomes: dict[Path, Parsed | DocumentError], capsys: pytest.CaptureFixture[str]
) -> None:
    measured = list(recalls(outcomes.items()))
    for kind, required in REQUIRED.items():
        files = [one for one in measured if one.kind == kind]
        with capsys.disabled():
            print(f"\n  word recall {kind:5} {overall(files):.4f} over {len(files)} files", end="")
        assert overall(files) >= required, [one for one in files if one.share < required]


def test_no_better_recall_is_published_than_is_measured(outcomes: dict[Path, Parsed | DocumentError]) -> None:
    page = (Path(__file__).parents[3] / "pipeline/parse/README.md").read_text()
    published = re.findall(r"^\| ([A-Z]+) \|[^|]*\| (\d+) \|[^|]*\| (\d\.\d{4}) \|", page, re.MULTILINE)
    assert len(published) > 10
    measured = list(recalls(outcomes.items()))
    for kind, count, recall in published:
        files = [one for one in measured if one.kind == kind.lower()]
        assert (len(files), overall(files) >= float(recall) - 0.0001) == (int(count), True), kind


def test_contracts_keep_their_words(data_folder: Path, pool: ParserPool) -> None:
    """CUAD: contracts as PDF and as text."""
    measured = list(contracts(pool, data_folder))
    assert overall(measured) >= REQUIRED_CUAD
    assert [one for one in measured if one.share < REQUIRED_CUAD_EACH] == []


def test_parsing_twice_gives_the_same(
    outcomes: dict[Path, Parsed | DocumentError], parse: Callable[..., Parsed]
) -> None:
    for path, outcome in list(outcomes.items())[::23]:
        if isinstance(outcome, Parsed):
            assert parse(path.read_bytes(), path.name) == outcome, path
