"""`cloister encryption`, and the other commands in a workspace where what is kept of documents is encrypted."""

import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import pipeline
from pipeline.outbox.parts import open_part
from tests.console.conftest import serving
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place

KEY = "keys/rest.key"


@pytest.fixture
def encrypted(ready: Place, cloister: Cloister) -> Iterator[Place]:
    """A workspace with a job and a key that site.yaml names."""
    assert cloister("encryption", "new", ready.root / KEY, "--json").json["file"] == str(ready.root / KEY)
    said(ready, f"{{key_file: {KEY}}}")
    yield ready
    shutil.rmtree(pipeline.atrest.AtRest(pipeline.atrest.store_of(ready.root)).cache(ready.root))


def said(place: Place, encryption: str | None) -> None:
    """What site.yaml says of encryption."""
    file = place.root / "site.yaml"
    lines = [line for line in file.read_text().splitlines() if not line.startswith("encryption:")]
    file.write_text("\n".join([*lines, *([f"encryption: {encryption}"] if encryption else [])]) + "\n")


def contents(place: Place) -> bytes:
    """All files that are kept of documents, together."""
    folders = ("archive", "failed", "outbox", "private", "state")
    return b"".join(path.read_bytes() for name in folders for path in (place.root / name).rglob("*") if path.is_file())


def test_a_night_in_an_encrypted_workspace(encrypted: Place, cloister: Cloister, tmp_path: Path) -> None:
    place, at = encrypted, ("--workspace", encrypted.root)
    place.drop("sort", "lease.txt", LEASE)
    place.drop("sort", "invoice.txt", INVOICE)
    assert cloister("run", "sort", *at).code == 0
    assert b"landlord" not in contents(place)
    assert b"Total due" not in contents(place)
    (report,) = (place.root / "outbox" / "sort" / "_reports").glob("report-*.md")
    assert "Results are encrypted, and this report is not" in report.read_text()
    assert "lease.txt" not in report.read_text()
    listed = cloister("results", "sort", "--json", *at)
    assert [row["path"] for row in listed.json] == ["invoice.txt", "lease.txt"]
    assert cloister("results", "sort", "-o", tmp_path / "rows.csv", *at).code == 0
    assert "lease.txt" in (tmp_path / "rows.csv").read_text(encoding="utf-8-sig")
    entry = listed.json[1]["audit_index"]
    assert "landlord" in cloister("review", "show", str(entry), *at).out
    assert cloister("review", "list", "--text", "landlord", *at).code == 0
    assert cloister("review", "correct", str(entry), "--label", "invoice", "--as", "Anna", *at).code == 0
    assert cloister("audit", "verify", *at).code == 0
    assert cloister("audit", "replay", "--sample", "100%", *at).code == 0
    assert cloister("rerun", "sort", "--all", "--decided", *at).code == 0
    assert cloister("audit", "verify", *at).code == 0
    assert b"landlord" not in contents(place)


def test_a_clear_copy_is_written_when_it_is_asked_for(encrypted: Place, cloister: Cloister, tmp_path: Path) -> None:
    encrypted.drop("sort", "lease.txt", LEASE)
    cloister("run", "sort", "--workspace", encrypted.root)
    (kept,) = encrypted.root.glob("archive/sort/*/*/bytes/lease.txt")
    out, at = tmp_path / "clear.txt", ("--workspace", encrypted.root)
    assert cloister("encryption", "decrypt", kept, "-o", out, *at).code == 0
    assert out.read_text() == LEASE
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    done = cloister("encryption", "decrypt", kept, "-o", out, *at)
    assert (done.code, "exists already" in done.err) == (2, True)
    gone = cloister("encryption", "decrypt", tmp_path / "none", "-o", tmp_path / "new", *at)
    assert (gone.code, "no file" in gone.err) == (2, True)
    body = bytearray(kept.read_bytes())
    body[200] ^= 1
    kept.write_bytes(body)
    damaged = cloister("encryption", "decrypt", kept, "-o", tmp_path / "new", *at)
    assert damaged.code == 4
    assert "not as it was written: chunk 1 of 1 is another one; restore it from a backup" in damaged.err
    assert cloister("audit", "verify", *at).code == 4


def test_a_key_is_never_overwritten(encrypted: Place, cloister: Cloister) -> None:
    before = (encrypted.root / KEY).read_bytes()
    assert stat.S_IMODE((encrypted.root / KEY).stat().st_mode) == 0o600
    done = cloister("encryption", "new", encrypted.root / KEY)
    assert (done.code, "never overwritten" in done.err) == (2, True)
    assert (encrypted.root / KEY).read_bytes() == before
    done = cloister("encryption", "new", encrypted.root / "none" / "rest.key")
    assert (done.code, "lies in no folder" in done.err) == (2, True)


def test_another_key_takes_the_place_of_the_first(encrypted: Place, cloister: Cloister) -> None:
    at = ("--workspace", encrypted.root)
    encrypted.drop("sort", "lease.txt", LEASE)
    cloister("run", "sort", *at)
    cloister("encryption", "new", encrypted.root / "keys" / "rest-2.key")
    said(encrypted, "{key_file: keys/rest-2.key}")
    lost = cloister("results", "sort", *at)
    assert lost.code == 2
    assert "name the file of that one in site.yaml (encryption.key_file, or previous_key_file)" in lost.err
    verified = cloister("audit", "verify", *at)
    assert (verified.code, "Traceback" in verified.err) == (2, False)
    said(encrypted, f"{{key_file: keys/rest-2.key, previous_key_file: {KEY}}}")
    assert cloister("results", "sort", *at).code == 0
    told = cloister("encryption", "rewrap", "--json", *at).json
    assert (told["keys"], told["rewrapped"]) == (2, 2)
    assert "wraps 2 keys, 0 of them" in cloister("encryption", "rewrap", *at).out
    (encrypted.root / KEY).unlink()
    assert cloister("results", "sort", *at).code == 0
    assert cloister("audit", "verify", *at).code == 0


def test_without_its_key_a_run_does_not_begin(encrypted: Place, cloister: Cloister) -> None:
    path = encrypted.drop("sort", "lease.txt", LEASE)
    (encrypted.root / KEY).chmod(0o644)
    done = cloister("run", "sort", "--workspace", encrypted.root)
    assert done.code == 2
    assert f"{KEY}: others may read it (mode 0644); chmod 600" in done.err
    assert path.read_text() == LEASE
    checked = cloister("check", "sort", "--workspace", encrypted.root)
    assert (checked.code, f"{KEY}: others may read it" in checked.out) == (2, True)
    (encrypted.root / KEY).unlink()
    assert "cannot be read: No such file or directory" in cloister("run", "sort", "--workspace", encrypted.root).err


def test_the_key_may_be_a_credential_of_systemd(
    encrypted: Place, cloister: Cloister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encrypted.drop("sort", "lease.txt", LEASE)
    said(encrypted, "{}")
    done = cloister("run", "sort", "--workspace", encrypted.root)
    assert (done.code, "systemd gave no credential cloister-encryption-key" in done.err) == (2, True)
    (encrypted.root / KEY).rename(tmp_path / "cloister-encryption-key")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert cloister("run", "sort", "--workspace", encrypted.root).code == 0
    assert b"landlord" not in contents(encrypted)


def test_encryption_that_was_on_is_not_forgotten(encrypted: Place, cloister: Cloister) -> None:
    at = ("--workspace", encrypted.root)
    encrypted.drop("sort", "lease.txt", LEASE)
    cloister("run", "sort", *at)
    said(encrypted, None)
    done = cloister("results", "sort", *at)
    assert (done.code, "encryption: {key_file: FILE, new_files: clear}" in done.err) == (2, True)
    said(encrypted, f"{{key_file: {KEY}, new_files: clear}}")
    encrypted.drop("sort", "invoice.txt", INVOICE)
    assert cloister("run", "sort", *at).code == 0
    assert b"Total due" in contents(encrypted)
    assert len(cloister("results", "sort", "--json", *at).json) == 2


@pytest.mark.parametrize(
    ("job", "told"),
    [
        (SORT + "output: {{formats: [parquet, markdown]}}\n", "the format markdown, which is in the clear"),
        (
            "job: {name}\nmodel: {{name: tiny}}\ntask: {{type: batch}}\n",
            "the task batch, whose output files are in the clear",
        ),
    ],
)
def test_clear_files_beside_encrypted_ones_are_refused(
    encrypted: Place, cloister: Cloister, job: str, told: str
) -> None:
    encrypted.job("sort", job)
    done = cloister("check", "sort", "--workspace", encrypted.root)
    assert done.code == 2
    assert told in done.err + done.out
    said(encrypted, None)
    clear = cloister("check", "sort", "--workspace", encrypted.root)
    assert told not in clear.err + clear.out


def test_a_workspace_without_encryption_has_nothing_of_it(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort", "--workspace", ready.root).code == 0
    assert not any((ready.root / "private").iterdir())
    (kept,) = ready.root.glob("archive/sort/*/*/bytes/lease.txt")
    assert kept.read_text() == LEASE
    assert cloister("encryption", "rewrap", "--workspace", ready.root).code == 2


def test_a_backup_has_the_wrapped_keys_and_not_the_one_that_opens_them(
    encrypted: Place, cloister: Cloister, tmp_path: Path
) -> None:
    place, at = encrypted, ("--workspace", encrypted.root)
    key = (place.root / KEY).rename(place.root / "rest.key")  # beside site.yaml, where backups would take it along
    said(place, "{key_file: rest.key}")
    place.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort", *at).code == 0
    done = cloister("backup", tmp_path / "backups", *at)
    assert (done.code, "all that the log proves is in it, unchanged" in done.out) == (0, True)
    (backup,) = (tmp_path / "backups").glob("2*")
    saved = [path for path in backup.rglob("*") if path.is_file()]
    assert any(".atrest" in path.parts for path in saved)
    assert all(path.read_bytes() != key.read_bytes() for path in saved)
    restored = cloister("restore", backup, tmp_path / "restored")
    assert restored.code == 2
    assert "cannot be read" in restored.out or "no key" in restored.out or "rest.key" in restored.out
    shutil.copy(key, tmp_path / "restored")
    assert cloister("audit", "verify", "--workspace", tmp_path / "restored").code == 0
    key.rename(place.root / KEY)


def test_an_erasure_reaches_backups_when_the_key_of_before_is_destroyed(
    encrypted: Place, cloister: Cloister, tmp_path: Path
) -> None:
    """As the page says: with the wrapped keys of today a backup from before opens, but for what was erased."""
    place, at, restored = encrypted, ("--workspace", encrypted.root), tmp_path / "restored"
    place.drop("sort", "lease.txt", LEASE)
    place.drop("sort", "invoice.txt", INVOICE)
    assert cloister("run", "sort", *at).code == 0
    assert cloister("backup", tmp_path / "backups", *at).code == 0
    told = cloister("audit", "erase", "lease.txt", "--archive", "--rows", "--reason", "request 12", *at)
    assert "backups of private/ have them until `cloister encryption rewrap`" in told.out
    assert cloister("encryption", "new", place.root / "keys" / "rest-2.key").code == 0
    said(place, f"{{key_file: keys/rest-2.key, previous_key_file: {KEY}}}")
    assert cloister("encryption", "rewrap", *at).code == 0
    (place.root / KEY).unlink()
    said(place, "{key_file: keys/rest-2.key}")
    cloister("restore", tmp_path / "backups", restored)
    shutil.copy(place.root / "site.yaml", restored)
    shutil.copy(place.root / "keys" / "rest-2.key", restored / "keys")
    (lease, invoice) = (next(restored.glob(f"archive/sort/*/*/bytes/{name}.txt")) for name in ("lease", "invoice"))
    for path in (lease, invoice):
        assert cloister("encryption", "decrypt", path, "-o", tmp_path / "no", "--workspace", restored).code == 2
    shutil.rmtree(restored / "private" / ".atrest")
    shutil.copytree(place.root / "private" / ".atrest", restored / "private" / ".atrest")
    gone = cloister("encryption", "decrypt", lease, "-o", tmp_path / "no", "--workspace", restored)
    assert (gone.code, "it was erased" in gone.err) == (2, True)
    assert cloister("encryption", "decrypt", invoice, "-o", tmp_path / "yes", "--workspace", restored).code == 0
    assert (tmp_path / "yes").read_text() == INVOICE


def test_a_clear_table_in_the_place_of_an_encrypted_one_is_tampering(encrypted: Place, cloister: Cloister) -> None:
    encrypted.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    (row,) = cloister("results", "sort", "--json").json
    (part,) = encrypted.parts("sort")
    at_rest = pipeline.atrest.AtRest(pipeline.atrest.store_of(encrypted.root), encrypted.root / KEY)
    parquet.write_table(open_part(at_rest, part).read(), part)
    for command in (("results", "sort"), ("results", "sort", "--json"), ("results", "sort", "-o", "rows.csv")):
        done = cloister(*command)
        assert (done.code, f"{part.name}: it lies in the clear, and was written encrypted" in done.err) == (4, True)
    assert not (encrypted.root / "rows.csv").exists()
    entry = str(row["audit_index"])
    for command in (("review", "show", entry), ("review", "accept", entry, "--as", "Anna"), ("audit", "verify")):
        done = cloister(*command)
        assert (done.code in (2, 4), "lease.txt, done" not in done.out) == (True, True), done
    with serving(encrypted.root) as console:
        answer = console.everybody().get(f"/documents/{entry}")
        assert ("lies in the clear" in answer.text, "lease (" in answer.text) == (True, False)
