"""How often `extract` is right without having learned anything: contracts and invoices.

    python -m tests.benchmarks.bench_extract MODEL.gguf

Reads extraction/ below CLOISTER_DATA. Contracts of CUAD: the seven fields of answers.jsonl; for each the best token F1
of the first value with one of the annotated passages, 1 where the contract has none and none is given, 0 where only one
of the two is so. Rules and constants were chosen on the contracts with odd numbers, and the others are reported beside
them. Invoices of invoice2data: number, date and total, right or not.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import engine
from pipeline.document import Parsed
from pipeline.errors import DocumentError
from pipeline.parse import ParserPool
from pipeline.tasks import Embedder, ExtractSettings, Field
from tests.pipeline.parse.recall import read

CONTRACT = {
    "Document Name": Field("document_name", "title", "name of the contract"),
    "Parties": Field("parties", "organisation", "parties to the contract", many=True),
    "Agreement Date": Field("agreement_date", "date", "date of the contract, dated, made and entered into as of"),
    "Effective Date": Field("effective_date", "date", "date on which the contract takes effect, effective as of"),
    "Expiration Date": Field("expiration", "text", "when the term of the agreement ends, initial term, shall expire"),
    "Renewal Term": Field("renewal", "text", "renewal of the term, automatically renewed for successive periods"),
    "Governing Law": Field("governing_law", "text", "governed by and construed in accordance with the laws of"),
}
INVOICE = (
    Field(
        "number", "reference", "invoice number, Rechnungsnummer, Rechnung Nr., numéro de facture, factuur, faktura nr"
    ),
    Field("date", "date", "invoice date, date of invoice, Rechnungsdatum, date de facture, factuur datum"),
    Field("total", "money", "total amount due, Gesamtbetrag, Rechnungsbetrag, total TTC, totaal te betalen"),
)
_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True)
class Answered:
    """A field of a contract: the annotated passages, none where there is no answer, and the values given."""

    document: str
    field: str
    passages: tuple[str, ...]
    values: tuple[str, ...]
    score: float

    @property
    def points(self) -> float:
        """Token F1 of the first value with the passage that is most like it."""
        if not self.passages or not self.values:
            return float(bool(self.passages) == bool(self.values))
        return max(f1(self.values[0], passage) for passage in self.passages)


def f1(a: str, b: str) -> float:
    """Twice the words in common by the words of both."""
    one, other = (Counter(_TOKEN.findall(text.lower())) for text in (a, b))
    both = (one & other).total()
    return 2 * both / (one.total() + other.total()) if both else 0.0


def passages_of(answer: Mapping[str, Any] | None) -> tuple[str, ...]:
    """What is annotated for a field; a passage in pieces is each of them."""
    if answer is None:
        return ()
    found = [piece for text in answer["text"] for piece in text.split("<omitted>")]
    return tuple(found or [answer["answer"]])


def extracted(
    settings: ExtractSettings, documents: Iterable[Parsed], model: Embedder
) -> Iterator[list[dict[str, Any]]]:
    """The elements of the column `fields` for each document."""
    task = settings.on_embedding(model)
    for document in documents:
        spans = task.spans(document)
        vectors = model.embed([document.text[span.start : span.end] for span in spans])
        yield list(task.answer(document, spans, vectors).columns["fields"])


def contracts(data: Path, model: Embedder, fields: Mapping[str, Field]) -> list[Answered]:
    """The answers for each contract and field."""
    folder = data / "extraction" / "cuad"
    with (folder / "answers.jsonl").open() as lines:
        rows = [json.loads(line) for line in lines]
    texts = ((folder / "txt" / f"{row['document']}.txt").read_text() for row in rows)
    settings = ExtractSettings(tuple(fields.values()))
    found = []
    parsed = (Parsed(text, "text/plain", "bench") for text in texts)
    for row, elements in zip(rows, extracted(settings, parsed, model), strict=True):
        for name, field in fields.items():
            its = [element for element in elements if element["name"] == field.name]
            values = tuple(element["verbatim"] for element in its if element["value"] is not None)
            gold = passages_of(row["answers"].get(name))
            found.append(Answered(row["document"], name, gold, values, max(e["score"] or 0.0 for e in its)))
    return found


def invoices(data: Path) -> list[tuple[str, Mapping[str, Any], Parsed]]:
    """The name of each invoice, what is to be found, and the document."""
    folder, found = data / "extraction" / "invoice2data" / "tests", []
    with ParserPool(1) as pool:
        for file in sorted((*folder.glob("compare/*.json"), *folder.glob("custom/*.json"))):
            path = next(path for end in (".pdf", ".txt") if (path := file.with_suffix(end)).exists())
            document = read(pool, path)
            if isinstance(document, DocumentError):
                raise document
            found.append((file.stem, json.loads(file.read_text())[0], document))
    return found


def is_right(name: str, value: str | None, expected: Mapping[str, Any]) -> bool:
    """Whether the value of a field is the one that is expected; none, where none is."""
    wanted = expected.get({"number": "invoice_number", "total": "amount"}.get(name, name))
    if wanted is None or value is None:
        return wanted is value
    if name == "total":
        return abs(float(value.split()[0]) - float(wanted)) < 0.005
    return value.lstrip("#") == str(wanted).lstrip("#")


def shares(answered: Sequence[Answered]) -> Iterator[str]:
    """A line for each field, and one for all."""
    for name in (*CONTRACT, None):
        its = [one for one in answered if name in (None, one.field)]
        absent = [one for one in its if not one.passages]
        given = sum(bool(one.values) for one in absent)
        mean = sum(one.points for one in its) / len(its)
        yield f"{name or 'all':16} F1 {mean:.3f}   absent and given {given} of {len(absent)}"


def main() -> int:
    """Print the lines; 0."""
    data = os.environ.get("CLOISTER_DATA")
    if not data or len(sys.argv) != 2:
        print("CLOISTER_DATA is not set, or no model is named: nothing is measured")
        return 0
    model = engine.load(Path(sys.argv[1]))
    answered = contracts(Path(data), model, CONTRACT)
    for odd, what in ((True, "on which rules were chosen"), (False, "on which nothing was chosen")):
        its = [one for one in answered if int(one.document[-3:]) % 2 == odd]
        print(f"CUAD, {len({one.document for one in its})} contracts {what}")
        print("\n".join(shares(its)), flush=True)
    expected = invoices(Path(data))
    rows = list(extracted(ExtractSettings(INVOICE), (document for _, _, document in expected), model))
    print(f"invoice2data, {len(expected)} invoices")
    for index, field in enumerate(INVOICE):
        right = sum(
            is_right(field.name, its[index]["value"], said) for its, (_, said, _) in zip(rows, expected, strict=True)
        )
        print(f"{field.name:16} {right} right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
