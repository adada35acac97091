"""The demo documents: made from their sources, of every format, and what is expected of them true to their text."""

import io
import json
import subprocess
import sys
import unicodedata
import zipfile
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "tests/corpus"
DEMO = CORPUS / "demo"
EXPECTED: dict[str, dict[str, dict[str, Any]]] = json.loads((DEMO / "expected.json").read_text("utf-8"))
DOCUMENTS = [(job, path) for job, documents in EXPECTED.items() for path in documents]
INVOICES = [(path, facts["fields"]) for path, facts in EXPECTED["invoice-fields"].items() if "fields" in facts]
FAILED = {path: facts["failure"] for job in EXPECTED.values() for path, facts in job.items() if "failure" in facts}


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def content(data: bytes) -> object:
    """The bytes; of a whole ZIP its members, as versions of zlib pack the same bytes differently."""
    if not data.startswith(b"PK") or not zipfile.is_zipfile(io.BytesIO(data)):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return [(item.filename, item.date_time, packed.read(item)) for item in packed.infolist()]


def test_the_sources_give_the_committed_documents(tmp_path: Path) -> None:
    subprocess.run([sys.executable, CORPUS / "make_demo.py", tmp_path], check=True)
    assert files(tmp_path) == files(DEMO)
    assert [
        path for path in files(DEMO) if content((tmp_path / path).read_bytes()) != content((DEMO / path).read_bytes())
    ] == []


def test_every_document_is_expected_and_every_expected_one_is_there() -> None:
    dropped = [f"{job}/{path}" for job, path in DOCUMENTS if "!/" not in path]  # the others are attached to mails
    assert sorted(["expected.json", *dropped]) == files(DEMO)


def test_the_corpus_is_as_varied_as_it_claims() -> None:
    facts = [facts for documents in EXPECTED.values() for facts in documents.values()]
    assert len(facts) >= 36
    formats = {"csv", "docx", "eml", "html", "json", "md", "pdf", "pptx", "rtf", "txt", "xlsx"}
    assert {fact["format"] for fact in facts if "format" in fact} == formats
    assert {fact.get("language") for fact in facts} >= {"en", "de", "fr"}
    assert {fact["state"] for fact in facts} == {"done", "failed", "duplicate", "abstained"}
    assert sorted(FAILED.values()) == ["corrupt", "empty", "encrypted"]
    assert sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file()) < 1_500_000


def test_the_long_contract_is_longer_than_any_window() -> None:
    body = (CORPUS / "sources/correspondence-triage/lease-kestrel.txt").read_text("utf-8").partition("\n\n")[2]
    assert len(body.split()) > 3000


def test_the_broken_ones_are_broken_as_told() -> None:
    data = {failure: next(DEMO.rglob(Path(path).name)).read_bytes() for path, failure in FAILED.items()}
    assert data["empty"] == b""
    assert b"/Encrypt" in data["encrypted"]
    assert data["corrupt"].startswith(b"PK")
    assert not zipfile.is_zipfile(io.BytesIO(data["corrupt"]))


def test_a_duplicate_has_the_bytes_of_its_original_and_comes_after_it() -> None:
    folder = DEMO / "correspondence-triage"
    pairs = [(path, facts["duplicate_of"]) for path, facts in EXPECTED[folder.name].items() if "duplicate_of" in facts]
    assert pairs
    for copy, original in pairs:
        assert (folder / copy).read_bytes() == (folder / original).read_bytes()
        assert original < copy


def test_one_file_lies_about_its_type_and_two_are_in_old_encodings() -> None:
    paths = [(job, path) for job, path in DOCUMENTS if path.endswith(".txt") and "!/" not in path]
    texts = {path: (DEMO / job / path).read_bytes() for job, path in paths}
    assert [path for path, data in texts.items() if data.startswith(b"%PDF")] == [
        "post/Complaint - kitchen worktop.txt"
    ]
    assert {data[:2] for data in texts.values()} >= {b"\xff\xfe"}
    heating = texts["post/Beschwerde Heizungsausfall Haus 14.txt"]
    assert b"K\xf6hler" in heating
    assert "unverzüglich" in heating.decode("cp1252")


@pytest.mark.parametrize("job", EXPECTED)
def test_a_job_is_named_as_its_file_and_its_folder(job: str) -> None:
    config = YAML(typ="safe", pure=True).load(ROOT / "configs" / f"{job}.yaml")
    assert config["job"] == job
    assert config["input"]["folder"] == f"inbox/{job}"
    assert (DEMO / job).is_dir()


def test_the_expected_labels_and_fields_are_those_of_the_jobs() -> None:
    tasks = {job: YAML(typ="safe", pure=True).load(ROOT / "configs" / f"{job}.yaml")["task"] for job in EXPECTED}
    labels = {facts["label"] for facts in EXPECTED["correspondence-triage"].values() if "label" in facts}
    assert labels == {label["name"] for label in tasks["correspondence-triage"]["labels"]}
    assert {name for _, fields in INVOICES for name in fields} == {
        field["name"] for field in tasks["invoice-fields"]["fields"]
    }


@pytest.mark.parametrize(("path", "fields"), INVOICES)
def test_expected_values_are_in_their_normal_form(path: str, fields: dict[str, dict[str, str]]) -> None:
    value = {name: field["value"] for name, field in fields.items()}
    assert datetime.fromisoformat(value["invoice_date"]) < datetime.fromisoformat(value["due_date"])
    amount, currency = value["total"].split(" ")
    assert Decimal(amount).as_tuple().exponent == -2
    assert currency in ("EUR", "GBP")
    assert value["vat_percent"] in ("7%", "19%", "20%", "21%", "23%")
    iban = value["iban"]
    assert int("".join(str(int(letter, 36)) for letter in iban[4:] + iban[:4])) % 97 == 1
    assert fields["iban"]["verbatim"].replace(" ", "") == iban


def test_names_have_spaces_and_umlauts_in_one_normal_form() -> None:
    names = [f"{job}/{path}" for job, path in DOCUMENTS]
    assert any(" " in name and "ü" in name for name in names)
    assert [name for name in names if not unicodedata.is_normalized("NFC", name)] == []
