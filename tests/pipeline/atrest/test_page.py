"""Encrypted results are read as README.md says, by the lines that stand there and by the standard."""

import re
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import pipeline
from pipeline import RunPlan
from pipeline.outbox.parts import key_name
from tests.pages import text_of
from tests.pipeline.atrest.test_at_rest import Drop, go


def test_the_lines_that_read_results(
    plan: RunPlan, drop: Drop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "b.txt"):
        drop(name, f"The landlord leases the flat {name}.")
        go(plan)
    (code,) = re.findall(r"```python\n(.*?)```", text_of("pipeline/atrest/README.md"), re.DOTALL)
    (tmp_path / "office").symlink_to(plan.site.root)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)
    read = {row["path"]: row["label"] for row in names["rows"].to_pylist()}
    assert read == {row["path"]: row["label"] for row in pipeline.results(plan.site)}
    assert len(read) == 2


def test_a_part_is_decrypted_by_the_standard_alone(plan: RunPlan, drop: Drop) -> None:
    """Parquet Modular Encryption, encrypted footer: what says how it is encrypted, then 4 bytes of length, 12 of nonce,
    the metadata, 16 of tag; authenticated with it are the file's own 8 bytes and the module's type, 0."""
    drop("a.txt", "The landlord leases the flat.")
    go(plan)
    (part,) = plan.outbox.glob("*.parquet")
    data = part.read_bytes()
    assert data[:4] == data[-4:] == b"PARE"
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    (at,) = [
        at for at in range(len(footer) - 32) if int.from_bytes(footer[at : at + 4], "little") == len(footer) - at - 4
    ]
    unique = re.search(rb"\x08(.{8})", footer[:at], re.DOTALL)
    assert unique
    (key,) = plan.site.at_rest.store.keys(key_name(part))
    metadata = AESGCM(key).decrypt(footer[at + 4 : at + 16], footer[at + 16 :], unique[1] + b"\0")
    assert b"audit_index" in metadata
