"""Word recall: how much of a document's text is found, measured against another reader of the same document.

The other reader is docling: its published Markdown beside the documents of its own tests. For CUAD, contracts as PDF,
it is the text that the set itself gives. Recall is the share of the other reader's words that are in our text too, both
taken as multisets, so that a word that comes twice has to be found twice. Order is not measured, nor what we read
beyond it. Documents that end as a failure are no part of it; the tests demand that these are the expected ones.

A word, on both sides: a run of letters or a run of digits, after case folding. Underscores and signs separate.

* Letters and digits are split from each other, because docling writes a space at each change of formatting: of "H2O"
  with a lowered 2 it makes "H 2 O". Signs of compatibility count as what they stand for: "x²" is "x" and "2" (NFKC).

Left out of docling's words, because no document contains them:

* Markdown's marks: emphasis, escapes, list and table rules, HTML tags, targets of links, comments for pictures, and
  "[x]" for a box that is ticked, which documents draw.
* Cells of a table that equal the one to the left or above: a merged cell is repeated for each column and row it spans.
* "Line chart", "Other chart" and the like alone on a line after a picture: docling's guess of what the picture is.
* Of "[author: Jane Smith (JS), time: 2026-06-18T17:35:35]:" before a comment all but the name: the labels are
  docling's, the initials repeat the name, and the time is when it was typed.

Left out as documents:

* formulas (equations, OMML), which docling writes in LaTeX and we write as they are read;
* Arabic and Hebrew in PDF, whose letters docling joins and orders in its own way.
"""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.document import Parsed
from pipeline.errors import DocumentError
from pipeline.parse import ParserPool

REQUIRED = {
    "csv": 0.99, "doc": 0.99, "docx": 0.97, "epub": 0.99, "html": 0.95, "md": 0.99, "odp": 0.97, "ods": 0.99,
    "odt": 0.97, "pdf": 0.99, "ppt": 0.99, "pptx": 0.98, "xls": 0.99, "xlsx": 0.98,
}  # fmt: skip
REQUIRED_CUAD, REQUIRED_CUAD_EACH = 0.998, 0.96
_ALIKE = {"xlsm": "xlsx"}
_LEFT_OUT = re.compile("right_to_left|equation|omml")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_REWRITES = (
    (re.compile(r"<!-- image -->\s*\n\s*\w+ chart *$", re.MULTILINE), ""),
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    (re.compile(r"^\[author: ([^(\n]*?)(?: \(\w+\))?(?:, time: [\dT:.-]+)?\]:", re.MULTILINE), r"\1"),
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), ""),
    (re.compile(r"\]\((?:[^()\s]|\([^()\s]*\))*(?: \"[^\"\n]*\")?\)"), "]"),
    (re.compile(r"\[[ xX]\]"), " "),
    (re.compile(r"\\([_*#\[\]<>`$|!-])"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^>]*>"), " "),
    (re.compile(r"(?<!\w)_+|_+(?!\w)|\*"), " "),
)


@dataclass(frozen=True)
class Recall:
    """Of one document: the words of the other reader, and how many of them were found."""

    kind: str
    name: str
    found: int
    expected: int

    @property
    def share(self) -> float:
        """From 0 to 1; 1 where there was nothing to find."""
        return self.found / self.expected if self.expected else 1.0


def words(text: str) -> Counter[str]:
    """The multiset of the words of a text."""
    return Counter(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def markdown_words(markdown: str) -> Counter[str]:
    """The words of docling's Markdown that its document can contain."""
    markdown = html.unescape(markdown)
    for pattern, replacement in _REWRITES:
        markdown = pattern.sub(replacement, markdown)
    return words("\n".join(without_repeated_cells(markdown.splitlines())))


def without_repeated_cells(lines: list[str]) -> Iterator[str]:
    """The lines, those of tables without cells that equal the one to the left or above."""
    above: list[str] = []
    for line in lines:
        cells = [cell.strip() for cell in line.split("|")] if line.startswith("|") else []
        pairs = zip(cells, ["", *cells], [*above, *[""] * len(cells)], strict=False)
        yield " ".join(cell for cell, left, up in pairs if cell not in {left, up}) if cells else line
        above = cells if not set(line) <= set("|- :") else above


def ground_truth(path: Path) -> Path | None:
    """Docling's Markdown of a document, if it is one of its own and comparable."""
    if path.parent.name != "sources" or _LEFT_OUT.search(path.name):
        return None
    folder = path.parents[1] / "groundtruth"
    candidates = (folder / f"{path.name}.md", folder / f"{path.stem}.md")
    return next((candidate for candidate in candidates if candidate.exists()), None)


def read(pool: ParserPool, path: Path) -> Parsed | DocumentError:
    """What becomes of a document."""
    with path.open("rb") as file:
        try:
            return pool.parse(file.fileno(), path.name)
        except DocumentError as error:
            return error


def recalls(outcomes: Iterable[tuple[Path, Parsed | DocumentError]]) -> Iterator[Recall]:
    """The recall of each document that was read and that docling has read."""
    for path, outcome in outcomes:
        truth = ground_truth(path)
        if truth and isinstance(outcome, Parsed):
            suffix = path.suffix.lower().lstrip(".")
            yield _recall(_ALIKE.get(suffix, suffix), path, outcome, markdown_words(truth.read_text()))


def contracts(pool: ParserPool, data: Path) -> Iterator[Recall]:
    """The recall of each contract of CUAD in the folder of real documents."""
    for path in sorted((data / "extraction/cuad/pdf").glob("*.pdf")):
        outcome = read(pool, path)
        if isinstance(outcome, DocumentError):
            raise outcome
        truth = path.parents[1] / "txt" / f"{path.stem}.txt"
        yield _recall("cuad", path, outcome, words(truth.read_text(errors="replace")))


def overall(measured: Iterable[Recall]) -> float:
    """The recall of documents taken as one."""
    measured = list(measured)
    return sum(one.found for one in measured) / sum(one.expected for one in measured)


def _recall(kind: str, path: Path, outcome: Parsed, theirs: Counter[str]) -> Recall:
    return Recall(kind, path.name, (theirs & words(outcome.text)).total(), theirs.total())
