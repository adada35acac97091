"""An attacker who has audit/ alone, and a list of documents that may have been in a private job, can confirm none.

He knows the program and computes whatever it can put into a log from a document: digests of its bytes, names, texts,
rows and tables, sizes and counts. Of a job that is not private the same functions find each document, so that a
function which is wrong here shows.
"""

import base64
import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from email.message import EmailMessage
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import audit
import pipeline
from pipeline import RunPlan, Site
from pipeline.document import Row
from pipeline.outbox.schema import SALT, result_sha256, table_schema
from pipeline.paths.names import file_sha256
from tests.pdf_files import pdf, words
from tests.pipeline.conftest import Witness, make_plan, make_site
from tests.pipeline.test_containers import zipped

ALGORITHMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256", "blake2b", "blake2s")
LEASE = "The landlord leases the flat to the tenant. "


@cache
def candidates() -> dict[str, bytes]:
    """Documents of all kinds of states, whose sizes and counts are like no other number in a log."""
    mail = EmailMessage()
    mail["Subject"], mail["From"] = "The flat of Gustav Holm", "ada@example.org"
    mail.set_content(LEASE * 191)
    mail.add_attachment(b"Invoice 7, total due 12.00. " * 887, maintype="text", subtype="plain", filename="Ida.txt")
    return {
        "Anna Meier.txt": (LEASE * 1181).encode(),
        "Bernd Kuhn.pdf": pdf(*(words(f"{LEASE} Page {number}.") for number in range(277))),
        "Carl Vogt.pdf": b"%PDF-1.7\n" + b"broken " * 6571,
        "Dora Lenz.zip": zipped({"Emil.txt": b"Total due: 3. " * 3733, "Frida.txt": (LEASE * 733).encode()}),
        "Gustav Holm.eml": bytes(mail),
        "Hanna/copy of it.txt": (LEASE * 1181).encode(),
    }


@dataclass(frozen=True)
class Guess:
    """A document with the row that the program makes of it, and its parsed text."""

    name: str
    body: bytes
    text: bytes
    row: dict[str, Any]

    def bytes_in_log(self) -> Iterator[bytes]:
        """Everything with bytes of its own that the log could have of it."""
        for data in (self.body, self.text, self.name.encode(), audit.canonical(self.name)):
            for algorithm in ALGORITHMS:
                digest = hashlib.new(algorithm, data).digest()
                yield from (digest, digest.hex().encode(), base64.b64encode(digest))
        yield result_sha256(Row(self.row)).encode()
        yield from (word.encode() for word in self.name.replace(".", " ").replace("/", " ").split() if len(word) > 3)

    def numbers_in_log(self) -> set[int]:
        """Its sizes and counts, as far as they are no small numbers."""
        told = {len(self.body), len(self.text), len(self.text.decode()), len(self.text.split())}
        told |= {self.row[key] for key in ("size", "pages", "tokens") if self.row[key] is not None}
        told |= {each["characters"] for each in self.row["hidden"] or ()}
        return {number for number in told if number > 200}


def guesses(site: Site, bodies: dict[str, bytes]) -> list[Guess]:
    """The strongest attacker: he has each row as the program made it, which nobody could make without the documents."""
    made = []
    for part in sorted((site.root / "outbox").rglob("*.parquet")):
        for row in pq.read_table(part).to_pylist():
            body = next(body for body in bodies.values() if hashlib.sha256(body).hexdigest() == row["document"])
            text = next((site.root / "archive").rglob(f"{row['text_sha256']}.txt"), None)
            made.append(Guess(row["path"], body, text.read_bytes() if text else b"", row))
    return made


def unpacked(bodies: dict[str, bytes]) -> dict[str, bytes]:
    """With the documents that are in these."""
    inner = {"Emil": b"Total due: 3. " * 3733, "Frida": (LEASE * 733).encode()}
    return bodies | inner | {"Ida": b"Invoice 7, total due 12.00. " * 887}


def log_of(site: Site) -> bytes:
    return b"\0".join(path.read_bytes() for path in sorted(site.audit.rglob("*")) if path.is_file())


def leaves(value: Any) -> Iterator[Any]:
    """Every value in an entry that is neither list nor object."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def numbers_of(site: Site) -> set[int]:
    entries = (entry for _, entry in audit.read_entries(site.audit, site.public_key))
    told = (
        n for entry in entries for n in leaves({k: v for k, v in entry.items() if k not in ("uptime_us", "handed")})
    )
    return {number for number in told if type(number) is int}


def tables(site: Site) -> set[str]:
    """The sha256 of each part, made from its rows and from what the log says of it."""
    made = set()
    for part in (site.root / "outbox").rglob("*.parquet"):
        rows = pq.read_table(part).to_pylist()
        for some in (rows, *([row] for row in rows)):
            file = io.BytesIO()
            pq.write_table(pa.Table.from_pylist(some, schema=table_schema()), file, compression="zstd")
            made.add(hashlib.sha256(file.getvalue()).hexdigest())
    return made


def ran(root: Path, model: Path, private: bool, one_by_one: bool) -> tuple[RunPlan, list[Guess]]:
    plan = replace(make_plan(make_site(root), model), private=private)
    for name, body in candidates().items():
        path = plan.input.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(body)
        if one_by_one:
            pipeline.run(plan, observer=Witness())
    pipeline.run(plan, observer=Witness())
    return plan, guesses(plan.site, unpacked(candidates()))


def confirmed(site: Site, guessed: list[Guess]) -> dict[str, set[str]]:
    """What he finds in the log, by the name of the document."""
    log, numbers, parts = log_of(site), numbers_of(site), tables(site)
    found: dict[str, set[str]] = {}
    for guess in guessed:
        kinds = {"bytes": any(each in log for each in guess.bytes_in_log())}
        kinds["numbers"] = bool(guess.numbers_in_log() & numbers)
        kinds["tables"] = any(sha256.encode() in log for sha256 in parts)
        found[guess.name] = {kind for kind, is_there in kinds.items() if is_there}
    return found


@pytest.mark.parametrize("one_by_one", [True, False])
def test_no_guess_is_confirmed_by_the_log_of_a_private_job(tmp_path: Path, tiny_model: Path, one_by_one: bool) -> None:
    plan, guessed = ran(tmp_path / "private", tiny_model, private=True, one_by_one=one_by_one)
    assert {row.row["state"] for row in guessed} == {"done", "failed", "duplicate"}
    assert len(guessed) == 9
    pipeline.hold(plan.site, "Bernd Kuhn.pdf", "case 12")
    pipeline.erase(plan.site, "Anna Meier.txt", "request 7", archive=True, rows=True)
    pipeline.records.record(plan.site, pipeline.records.ReadStory(document="entry 7"))
    pipeline.run(replace(plan, retention=pipeline.plan.Retention(rows_days=0)), observer=Witness())
    assert confirmed(plan.site, guessed) == {guess.name: set() for guess in guessed}
    assert pipeline.verify(plan.site).complete


def test_the_same_functions_find_the_documents_of_a_job_that_is_not_private(tmp_path: Path, tiny_model: Path) -> None:
    plan, guessed = ran(tmp_path / "open", tiny_model, private=False, one_by_one=True)
    assert confirmed(plan.site, guessed) == {guess.name: {"bytes", "numbers", "tables"} for guess in guessed}


def test_an_export_of_a_private_job_confirms_none_either(tmp_path: Path, tiny_model: Path) -> None:
    plan, guessed = ran(tmp_path / "private", tiny_model, private=True, one_by_one=False)
    pipeline.export(plan.site, tmp_path / "out")
    told = b"\0".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    records = pq.read_table(tmp_path / "out" / "records.parquet").to_pylist()
    for guess in guessed:
        assert not [each for each in guess.bytes_in_log() if each in told]
        assert not guess.numbers_in_log() & {row[key] for row in records for key in ("size", "pages", "tokens")}


def test_what_is_erased_is_confirmed_by_nobody_who_keeps_the_workspace(tmp_path: Path, tiny_model: Path) -> None:
    """Neither salts nor values of it stay anywhere, and the part of the others gets another salt."""
    plan, guessed = ran(tmp_path / "private", tiny_model, private=True, one_by_one=False)
    (part,) = plan.outbox.glob("*.parquet")
    before, salt = file_sha256(part), pq.read_schema(part).metadata[SALT.encode()]
    anna = next(guess for guess in guessed if guess.name == "Anna Meier.txt")
    mine = [entry.n for entry in pipeline.story(plan.site, "Anna Meier.txt").entries if entry.type == "document"]
    lines = [line for file in (plan.site.root / "private").rglob("*.jsonl") for line in file.read_text().splitlines()]
    salts = [
        pair[0] for row in map(json.loads, lines) if row["n"] in mine for pair in row.values() if type(pair) is list
    ]
    assert len(mine) == 2
    assert len(salts) == len(set(salts)) >= 40
    pipeline.erase(plan.site, "Anna Meier.txt", "request 7", archive=True, rows=True)
    assert (file_sha256(part) != before, pq.read_schema(part).metadata[SALT.encode()] != salt) == (True, True)
    kept = b"\0".join(path.read_bytes() for path in plan.site.root.rglob("*") if path.is_file())
    assert not [each for each in salts if each.encode() in kept]
    assert salt not in kept
    assert not [each for each in anna.bytes_in_log() if len(each) > 8 and each in kept]
