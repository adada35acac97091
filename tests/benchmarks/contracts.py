"""Contracts of CUAD with their labelled fields, as examples to learn from.

CUAD v1: The Atticus Project, CC BY 4.0. Read from extraction/cuad below CLOISTER_DATA; see SOURCE.md there.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIELDS = {
    "document_name": "Document Name",
    "parties": "Parties",
    "agreement_date": "Agreement Date",
    "effective_date": "Effective Date",
    "expiration_date": "Expiration Date",
    "renewal_term": "Renewal Term",
    "governing_law": "Governing Law",
}
ATTRIBUTION = (
    "learned from contracts of CUAD v1 (Contract Understanding Atticus Dataset, The Atticus Project, "
    "https://www.atticusprojectai.org/cuad), licensed under CC BY 4.0, https://creativecommons.org/licenses/by/4.0/; "
    "the labels of seven of its categories were used"
)


@dataclass(frozen=True)
class Contract:
    """A contract: its text, and for each field the texts that are right answers; none where it lacks the field."""

    name: str
    text: str
    answers: Mapping[str, list[str]]
    places: Mapping[str, list[Any]]

    def example(self) -> dict[str, Any]:
        """The contract as a line of examples of `cloister learn`: values by their places."""
        return {"text": self.text, "fields": {name: its or None for name, its in self.places.items()}}


def contracts(data: Path) -> Iterator[Contract]:
    """All contracts, in the order of their numbers."""
    folder = data / "extraction" / "cuad"
    for line in (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines():
        said = json.loads(line)
        with (folder / "txt" / f"{said['document']}.txt").open(encoding="utf-8", newline="") as file:
            text = file.read()
        each = {name: list(_places(text, said["answers"].get(own))) for name, own in FIELDS.items()}
        answers = {name: [text[start:end] for start, end in its] for name, its in each.items()}
        places = {name: [list(place) for place in its] for name, its in each.items()}
        yield Contract(said["document"], text, answers, places)


def _places(text: str, said: Mapping[str, Any] | None) -> Iterator[tuple[int, int]]:
    """Where the labelled spans of a field lie; those of which CUAD left out something in several pieces."""
    for words, span in zip(said["text"], said["spans"], strict=True) if said else ():
        if span:
            yield span[0], span[1]
            continue
        for piece in filter(str.strip, words.split("<omitted>")):
            if match := re.search(r"\s+".join(map(re.escape, piece.split())), text):
                yield match.span()
