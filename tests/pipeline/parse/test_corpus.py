"""Every real document ends as text or as a typed failure, and the text holds the words that another reader finds.

The other reader is docling's published Markdown. Both sides are compared as multisets of words; recall is the share of
the other reader's words that are here too. Of its words those are left out that no document contains: Markdown's marks
and links, and in tables the cells that equal the one to the left or above (it repeats merged cells). Files of formulas,
which it writes in LaTeX, and of Arabic script in PDF, whose letters it orders in its own way, are left out. What still
keeps the figures below 1 are its names for pictures and charts, and times of comments.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse import ParserPool

FLOORS = {
    "csv": 0.999, "docx": 0.99, "html": 0.955, "md": 0.999, "pdf": 0.99, "pptx": 0.89, "xls": 0.999, "xlsx": 0.97,
}  # fmt: skip
LEFT_OUT = re.compile("right_to_left|equation|omml")
_REWRITES = (
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), ""),
    (re.compile(r"\[([^\]]*)\]\([^)\s]*\)"), r"\1"),
    (re.compile(r"\\([_*#\[\]<>`$|!-])"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^>]*>"), " "),
    (re.compile(r"(?<!\w)_+|_+(?!\w)|\*"), " "),
)


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.casefold()))


def markdown_words(markdown: str) -> Counter[str]:
    """The words of Markdown without its marks, links' targets and pictures."""
    markdown = html.unescape(markdown)
    for pattern, replacement in _REWRITES:
        markdown = pattern.sub(replacement, markdown)
    return words("\n".join(without_repeated_cells(markdown.splitlines())))


def without_repeated_cells(lines: list[str]) -> Iterator[str]:
    above: list[str] = []
    for line in lines:
        cells = [cell.strip() for cell in line.split("|")] if line.startswith("|") else []
        pairs = zip(cells, ["", *cells], [*above, *[""] * len(cells)], strict=False)
        yield " ".join(cell for cell, left, up in pairs if cell not in {left, up}) if cells else line
        above = cells if not set(line) <= set("|- :") else above


def read(pool: ParserPool, path: Path) -> Parsed | DocumentError:
    with path.open("rb") as file:
        try:
            return pool.parse(file.fileno(), path.name)
        except DocumentError as error:
            return error


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
            assert outcome.text.strip(), path
            assert outcome.text == outcome.text.encode().decode()
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]", outcome.text), path
            assert list(outcome.page_starts) == sorted(outcome.page_starts)
            for start in outcome.page_starts:
                assert outcome.evidence(start, start + 9).text == outcome.text[start : start + 9]


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
    found, expected, files = Counter[str](), Counter[str](), Counter[str]()
    for path, outcome in outcomes.items():
        truth = ground_truth(path)
        if truth is None or isinstance(outcome, DocumentError) or LEFT_OUT.search(path.name):
            continue
        kind, theirs = path.parents[1].name, markdown_words(truth.read_text())
        found[kind] += (theirs & words(outcome.text)).total()
        expected[kind] += theirs.total()
        files[kind] += 1
    with capsys.disabled():
        for kind in sorted(FLOORS):
            print(f"\n  word recall {kind:5} {found[kind] / expected[kind]:.4f} over {files[kind]} files", end="")
    for kind, floor in FLOORS.items():
        assert found[kind] / expected[kind] >= floor, kind


def ground_truth(path: Path) -> Path | None:
    if path.parent.name != "sources":
        return None
    folder = path.parents[1] / "groundtruth"
    candidates = (folder / f"{path.name}.md", folder / f"{path.stem}.md")
    return next((candidate for candidate in candidates if candidate.exists()), None)


def test_contracts_keep_their_words(data_folder: Path, pool: ParserPool) -> None:
    """CUAD: contracts as PDF and as text."""
    found = expected = 0
    for path in sorted((data_folder / "extraction/cuad/pdf").glob("*.pdf")):
        outcome = read(pool, path)
        assert isinstance(outcome, Parsed), path
        truth = words((path.parents[1] / "txt" / f"{path.stem}.txt").read_text(errors="replace"))
        found += (truth & words(outcome.text)).total()
        expected += truth.total()
    assert found / expected >= 0.998


def test_parsing_twice_gives_the_same(
    outcomes: dict[Path, Parsed | DocumentError], parse: Callable[..., Parsed]
) -> None:
    for path, outcome in list(outcomes.items())[::23]:
        if isinstance(outcome, Parsed):
            assert parse(path.read_bytes(), path.name) == outcome, path
