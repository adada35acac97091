"""The key of what is encrypted, made wrong and told."""

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.trust.secrets import encryption
from tests.jobs.conftest import Cloister, Place
from tests.jobs.test_cli_encryption import KEY, said
from tests.jobs.trust.found import patient_of, told, tree


def test_the_key_of_what_is_encrypted(place: Place, cloister: Cloister) -> None:
    assert told(encryption, patient_of(place)) == [
        ("ok", "site.yaml asks for no encryption: documents and results lie as they are.")
    ]
    assert cloister("encryption", "new", KEY).code == 0
    said(place, f"{{key_file: {KEY}}}")
    assert told(encryption, patient_of(place)) == [("ok", f"{KEY} is the key that opens what is encrypted.")]
    wrapped = place.root / "private" / ".atrest" / "documents" / "ab" / "name"
    wrapped.parent.mkdir(parents=True)
    wrapped.write_text("0123456789abcdef AAAA\n")
    ((level, sentence),) = told(encryption, patient_of(place))
    assert (level, "was wrapped by '0123456789abcdef'" in sentence) == ("problem", True)
    (place.root / KEY).unlink()
    ((level, sentence),) = told(encryption, patient_of(place))
    assert (level, "the key of what is encrypted cannot be read" in sentence) == ("problem", True)


def test_a_credential_of_systemd(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    said(place, "{}")
    patient = replace(patient_of(place), root=tmp_path)
    ((level, sentence),) = told(encryption, patient)
    assert (level, "systemd gave no credential cloister-encryption-key" in sentence) == ("problem", True)
    unit = "[Service]\nLoadCredentialEncrypted=cloister-encryption-key:/etc/cloister/encryption-key.cred\n"
    tree(tmp_path / "etc/systemd/system", **{"cloister-serve@.service": unit})
    assert told(encryption, patient) == [
        ("ok", "cloister-serve@.service gives the key of what is encrypted to its service; it was not tried here.")
    ]
