"""A commitment is opened by its salt and value, and by nothing else."""

import hashlib
import hmac
import re
from pathlib import Path

import pytest

import audit


def test_the_bytes_are_those_of_the_format() -> None:
    commitment, salt = audit.commit_to("inbox/Verträge/nda.pdf")
    by_hand = hmac.new(bytes.fromhex(salt), '"inbox/Verträge/nda.pdf"'.encode(), hashlib.sha256).hexdigest()
    assert commitment == f"hmac-sha256:{by_hand}"
    assert len(salt) == 64
    assert audit.is_commitment(commitment)


def test_the_example_of_the_format() -> None:
    text = (Path(audit.__file__).parent / "FORMAT.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^    (hmac-sha256:[0-9a-f]{64})$", text, re.M)
    assert audit.check_commitment(example, bytes(range(32)).hex(), "inbox/Verträge/nda.pdf")


@pytest.mark.parametrize("value", ["a", None, 7, {"file": "a.md", "sha256": "0"}, ["a", "b"]])
def test_only_its_salt_and_value_open_it(value: object) -> None:
    commitment, salt = audit.commit_to(value)
    assert audit.check_commitment(commitment, salt, value)
    assert not audit.check_commitment(commitment, salt, "b")
    other, other_salt = audit.commit_to(value)
    assert other != commitment
    assert not audit.check_commitment(commitment, other_salt, value)
    for wrong in (salt[:-2], "", "x" * 64, salt + "00"):
        assert not audit.check_commitment(commitment, wrong, value)


def test_what_is_no_commitment() -> None:
    assert not any(map(audit.is_commitment, [None, 7, "", "a.pdf", "hmac-sha256:ab", "sha256:" + "0" * 64]))
