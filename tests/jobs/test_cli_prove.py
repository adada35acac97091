"""The commands with which others check the log: prove, check, verify --against, witness, witness cosign."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import audit
from jobs.cli.audit_keep import format_sheet, terminal_code
from jobs.config.load import load_site
from tests.jobs.conftest import INVOICE, Cloister, Place
from tests.jobs.qr import decode_svg, decode_terminal


def public_key(place: Place) -> str:
    return load_site(place.root / "site.yaml").log.public_key


def another_run(place: Place, cloister: Cloister) -> None:
    place.drop("sort", "invoice.txt", INVOICE)
    assert cloister("run", "sort").code == 0


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a workspace."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_proof_is_checked_on_another_machine(answered: Place, cloister: Cloister, alone: Path) -> None:
    told = cloister("audit", "prove", "1", "-o", alone / "p", "--workspace", answered.root)
    assert told.code == 0
    assert f"--key {public_key(answered)}" in told.out
    (*_, (_, last)) = audit.read_entries(answered.root / "audit", public_key(answered))
    assert (last["type"], last["entry"]) == ("read.proof", 1)
    shown = cloister("audit", "prove", "1", "--workspace", answered.root).out
    assert shown.splitlines()[:3] == (alone / "p").read_text().splitlines()[:3]
    checked = cloister("audit", "check", alone / "p", "--key", public_key(answered))
    assert checked.code == 0, checked.err
    assert checked.out.startswith("Proved: this is entry 1 of the log test.example/log, under a checkpoint of ")
    entry = next(entry for n, entry in audit.read_entries(answered.root / "audit", public_key(answered)) if n == 1)
    assert f"  type       {entry['type']}\n" in checked.out
    (alone / "key.txt").write_text(public_key(answered) + "\n")
    as_json = cloister("audit", "check", alone / "p", "--key", "key.txt", "--json").json
    assert (as_json["ok"], as_json["index"], as_json["entry"]) == (True, 1, json.loads(as_json["data"]))


def test_a_false_proof_is_refused(answered: Place, cloister: Cloister, alone: Path) -> None:
    (alone / "p").write_text(
        cloister("audit", "prove", "1", "--workspace", answered.root).out.replace("index 1", "index 0")
    )
    told = cloister("audit", "check", "p", "--key", public_key(answered))
    assert told.code == 4
    assert told.out.startswith("p PROVES NOTHING: the proof does not hold: ")
    as_json = cloister("audit", "check", "p", "--key", public_key(answered), "--json")
    assert (as_json.code, as_json.json["ok"]) == (4, False)


def test_what_cannot_be_proved_or_checked_is_told(answered: Place, cloister: Cloister) -> None:
    (answered.root / "p").write_text(cloister("audit", "prove", "0").out)
    for arguments, why in (
        (("prove", "9999"), "the checkpoint covers"),
        (("prove", "0", "-o", "no/such/folder"), "cannot be written"),
        (("prove", "0", "--under", "missing"), "cannot be read"),
        (("check", "missing", "--key", public_key(answered)), "cannot be read"),
        (("check", "p", "--key", "nonsense"), "this is no public key"),
        (("check", "p", "--key", public_key(answered), "--witness", "nonsense"), "no witness's public key"),
        (("check", "p"), "Missing option '--key'"),
        (("verify", "--against", "missing"), "cannot be read"),
        (("verify", "--witness", public_key(answered)), "with --against FILE"),
        (("verify", "--against", "p", "--witness", "nonsense"), "no witness's public key"),
    ):
        told = cloister("audit", *arguments)
        assert told.code == 2, arguments
        assert why in told.err


def test_a_log_is_held_against_a_kept_checkpoint(answered: Place, cloister: Cloister, tmp_path: Path) -> None:
    signed = (answered.root / "audit/checkpoint").read_bytes()
    assert cloister("audit", "witness", "-o", "kept").code == 0
    assert (answered.root / "kept").read_bytes() == signed
    shutil.copytree(answered.root / "audit", tmp_path / "back")
    another_run(answered, cloister)
    told = cloister("audit", "verify", "--against", "kept")
    assert (told.code, told.out.splitlines()[-1]) == (0, "  extends       the checkpoint in kept")
    (answered.root / "scanned").write_bytes(
        (answered.root / "kept").read_bytes().replace(b"\n", b"\r\n").rstrip() + b"  "
    )
    assert cloister("audit", "verify", "--against", "scanned").code == 0
    assert cloister("audit", "witness", "-o", "later").code == 0
    shutil.rmtree(answered.root / "audit")
    shutil.copytree(tmp_path / "back", answered.root / "audit")
    told = cloister("audit", "verify", "--against", "later")
    assert told.code == 4
    assert "kept checkpoint: roll-back: it signs " in told.out


def test_a_fork_with_the_key_is_found(answered: Place, cloister: Cloister, tmp_path: Path) -> None:
    shutil.copytree(answered.root / "audit", tmp_path / "back")
    another_run(answered, cloister)
    assert cloister("audit", "witness", "-o", "kept").code == 0
    shutil.rmtree(answered.root / "audit")
    shutil.copytree(tmp_path / "back", answered.root / "audit")
    with audit.Log.open(answered.root / "audit", key_path=next((answered.root / "keys").glob("*.key")),
                        public_key=public_key(answered)) as log:  # fmt: skip
        log.commit([{"type": "invented", "run": "r", "i": i} for i in range(20)])
    told = cloister("audit", "verify", "--against", "kept")
    assert told.code == 4
    assert "kept checkpoint: fork: it signs the root " in told.out


def test_a_second_person_cosigns(answered: Place, cloister: Cloister, tmp_path: Path) -> None:
    there = tmp_path / "witness"
    there.mkdir()
    key = audit.generate_key(there / "key", "witness.example/ada")
    mine = ("--key", there / "key", "--state", there / "state")
    assert cloister("audit", "witness", "-o", "request").code == 0
    told = cloister("audit", "witness", "cosign", "request", *mine)
    assert told.code == 4
    assert "does not know the log" in told.err
    told = cloister("audit", "witness", "cosign", "request", *mine, "--log", public_key(answered), "-o", "cosigned")
    assert told.code == 0, told.err
    assert "of the log test.example/log, the first time." in told.out
    witness = re.findall(r"^  witness  (\S+)$", told.out, re.M)[0]
    assert cloister("audit", "verify", "--against", "cosigned", "--witness", witness).code == 0
    assert cloister("audit", "verify", "--against", "request", "--witness", witness).code == 4
    assert cloister("audit", "prove", "0", "--under", "cosigned", "-o", "p").code == 0
    told = cloister("audit", "check", "p", "--key", public_key(answered), "--witness", witness)
    assert (told.code, f"UTC by {witness}" in told.out) == (0, True)
    assert cloister("audit", "check", "p", "--key", public_key(answered), "--witness", key).code == 0

    shutil.copytree(answered.root / "audit", tmp_path / "back")
    another_run(answered, cloister)
    assert cloister("audit", "witness", "--since", "cosigned", "-o", "request2").code == 0
    assert (answered.root / "request2").read_bytes().startswith(b"old ")
    (there / "secret").write_text("swordfish\n")
    (there / "secret").chmod(0o600)
    sealed = ("--key", there / "sealed", "--state", there / "other state", "--log", public_key(answered))
    audit.generate_key(there / "sealed", "witness.example/eve", there / "secret")
    assert cloister("audit", "witness", "cosign", "request2", *sealed).code == 2
    opened = cloister("audit", "witness", "cosign", "request2", *sealed, "--passphrase-file", there / "secret")
    assert opened.code == 0, opened.err
    given = cloister("audit", "witness", "cosign", "request2", *mine)
    assert given.code == 0, given.err
    (answered.root / "cosigned2").write_text(given.out)
    assert cloister("audit", "verify", "--against", "cosigned2", "--witness", witness).code == 0
    told = cloister("audit", "witness", "cosign", "request", *mine, "--json")
    assert (told.code, told.json["ok"]) == (4, False)
    assert "roll-back: this witness cosigned " in told.json["error"]


def test_a_witness_goes_on_when_the_key_of_the_log_was_replaced(
    answered: Place, cloister: Cloister, tmp_path: Path
) -> None:
    audit.generate_key(tmp_path / "key", "witness.example/ada")
    mine = ("--key", tmp_path / "key", "--state", tmp_path / "state")
    assert cloister("audit", "witness", "-o", "request").code == 0
    told = cloister("audit", "witness", "cosign", "request", *mine, "--log", public_key(answered), "-o", "cosigned")
    witness = re.findall(r"^  witness  (\S+)$", told.out, re.M)[0]
    assert cloister("audit", "key", "rotate").code == 0
    assert cloister("audit", "witness", "--since", "cosigned", "-o", "request2").code == 0
    refused = cloister("audit", "witness", "cosign", "request2", *mine)
    assert (refused.code, "if the log has another key now" in refused.err) == (4, True)
    told = cloister("audit", "witness", "cosign", "request2", *mine, "--log", public_key(answered), "-o", "cosigned2")
    assert (told.code, "cosigned last" in told.out) == (0, True)
    for kept in ("cosigned", "cosigned2"):
        assert cloister("audit", "verify", "--against", kept, "--witness", witness).code == 0
    assert cloister("audit", "witness", "cosign", "request2", *mine).code == 0


def test_a_checkpoint_is_shown_as_text_and_code(answered: Place, cloister: Cloister) -> None:
    note = (answered.root / "audit/checkpoint").read_text()
    told = cloister("audit", "witness")
    assert told.code == 0
    assert told.out.startswith(note)
    assert decode_terminal(told.out.removeprefix(note)) == note.encode()
    note = (answered.root / "audit/checkpoint").read_text()
    assert cloister("audit", "witness", "--json").json["checkpoint"] == note


def test_the_page_for_paper_has_text_and_code(answered: Place, cloister: Cloister) -> None:
    signed = (answered.root / "audit/checkpoint").read_bytes()
    told = cloister("audit", "witness", "--sheet", "page.html")
    assert told.code == 0
    page = (answered.root / "page.html").read_text()
    assert signed.decode() in page
    assert public_key(answered) in page
    assert decode_svg(page) == signed
    assert page.count("<svg") == 1
    assert "<script" not in page
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page)


def test_text_of_the_log_cannot_act_on_the_page() -> None:
    page = format_sheet("<b>&\n1\nroot\n\n— x", "a+b<i>", datetime(2026, 11, 22, tzinfo=UTC))
    assert "<b>" not in page
    assert "<i>" not in page
    assert "2026-11-22 00:00:00 UTC" in page


@pytest.mark.parametrize("length", [1, 100, 250, 320])
def test_every_code_reads_as_what_was_written(length: int) -> None:
    data = bytes(32 + i * i % 90 for i in range(length))
    assert decode_terminal(terminal_code(data)) == data


def test_check_and_cosign_load_no_pipeline() -> None:
    """They are for machines on which nothing else is done."""
    heavy = "{'numba', 'numpy', 'pyarrow', 'engine', 'pipeline.plan'} & set(sys.modules)"
    code = f"import sys, atexit; atexit.register(lambda: print('loaded', {heavy}))\n"
    code += "from jobs.cli import main; main()"
    for arguments in (
        ["check", "/dev/null", "--key", "x"],
        ["witness", "cosign", "/dev/null", "--key", "x", "--state", "y"],
    ):
        command = [sys.executable, "-c", code, "audit", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 2
        assert done.stdout.endswith("loaded set()\n")


def test_a_proof_is_exact_whatever_the_terminal_is(answered: Place) -> None:
    """The dash of a signature is not in Latin-1."""
    command = [
        sys.executable,
        "-c",
        "from jobs.cli import main; main()",
        "audit",
        "prove",
        "0",
        "--workspace",
        answered.root,
    ]
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    told = subprocess.run(
        command, cwd=answered.root.parent, env=environment, capture_output=True, timeout=600, check=True
    )
    assert audit.check_proof(told.stdout.decode(), public_key(answered)).index == 0


def test_a_file_that_is_no_checkpoint_accuses_no_log(answered: Place, cloister: Cloister, tmp_path: Path) -> None:
    slip = tmp_path / "README.md"
    slip.write_text("# no checkpoint\n")
    ended = cloister("audit", "verify", "--against", str(slip), "--workspace", str(answered.root))
    assert ended.code == 2
    assert "README.md: not signed" in ended.err


def test_a_proof_under_an_earlier_key_names_that_key(answered: Place, cloister: Cloister) -> None:
    earlier = public_key(answered)
    assert cloister("audit", "witness", "-o", "kept").code == 0
    assert cloister("audit", "key", "rotate").code == 0
    told = cloister("audit", "prove", "0", "--under", "kept", "-o", "p")
    assert told.out.splitlines()[-1] == f"    cloister audit check p --key {earlier}"
    assert cloister("audit", "check", "p", "--key", earlier).code == 0
    told = cloister("audit", "prove", "0", "-o", "p")
    assert told.out.splitlines()[-1] == f"    cloister audit check p --key {public_key(answered)}"


def test_files_of_another_kind_are_wrong_usage(answered: Place, cloister: Cloister, tmp_path: Path) -> None:
    """No verdict falls on a log for them."""
    assert cloister("audit", "witness", "-o", "kept").code == 0
    assert cloister("audit", "prove", "0", "-o", "p").code == 0
    assert cloister("audit", "witness", "--since", "kept", "-o", "request").code == 0
    key = audit.generate_key(tmp_path / "ada", "witness.example/ada")
    audit.generate_key(tmp_path / "open", "witness.example/open")
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "a file").touch()
    own = public_key(answered)
    mine = ("--key", tmp_path / "ada", "--log", own)
    for arguments, why in (
        (("verify", "--against", "p"), "p: a proof"),
        (("verify", "--against", "request"), "request: a request"),
        (("prove", "0", "--under", "p"), "p: a proof"),
        (("witness", "cosign", "p", *mine, "--state", tmp_path / "s"), "p: a proof"),
        (("witness", "cosign", "kept", *mine, "--state", tmp_path / "a file"), "a file: is no folder"),
        (("check", "kept", "--key", own), "kept: no proof"),
        (("check", "p", "--key", "ada.key"), "--key: there is no file 'ada.key'"),
        (("check", "p", "--key", own, "--witness", "ada.key"), "--witness: there is no file 'ada.key'"),
        (("verify", "--key", key), "--key: a key of the log 'witness.example/ada'"),
        (("witness", "cosign", "kept", "--key", tmp_path / "open", "--log", own, "--state", "s"),
         "--key: " + f"{tmp_path}/open: others may read it"),
        (("witness", "cosign", "kept", "--key", "keys/log.key", "--log", own, "--state", "s"),
         "--key: this is the log's own key"),
    ):  # fmt: skip
        told = cloister("audit", *arguments)
        assert (told.code, why in told.err) == (2, True), (arguments, told)


def test_a_witness_that_takes_the_folder_of_another_is_told(
    answered: Place, cloister: Cloister, tmp_path: Path
) -> None:
    for name in ("ada", "eve"):
        audit.generate_key(tmp_path / name, f"witness.example/{name}")
    given = ("--state", tmp_path / "state", "--log", public_key(answered))
    assert cloister("audit", "witness", "-o", "kept").code == 0
    assert cloister("audit", "witness", "cosign", "kept", "--key", tmp_path / "ada", *given).code == 0
    told = cloister("audit", "witness", "cosign", "kept", "--key", tmp_path / "eve", *given)
    assert (told.code, "was cosigned with another key than this one" in told.err) == (2, True), told.err


def test_a_kept_checkpoint_that_says_nothing_leaves_the_log_whole(
    answered: Place, cloister: Cloister, tmp_path: Path
) -> None:
    witness = audit.generate_key(tmp_path / "ada", "witness.example/ada")
    assert cloister("audit", "witness", "-o", "kept").code == 0
    told = cloister("audit", "verify", "--against", "kept", "--witness", witness)
    assert told.code == 4
    assert told.out.startswith(
        "THE AUDIT LOG test.example/log WAS NOT HELD AGAINST THE KEPT CHECKPOINT. The log itself"
    )
    assert "CANNOT BE TRUSTED" not in told.out
    assert "not cosigned by witness.example/ada" in told.out
    assert "completeness  all that the log proves is there" in told.out


def test_a_key_that_is_not_the_logs_is_no_damage(answered: Place, cloister: Cloister, tmp_path: Path) -> None:
    key = audit.generate_key(tmp_path / "other", "test.example/log")
    told = cloister("audit", "verify", "--key", key)
    assert told.code == 4
    assert told.out.startswith("THE AUDIT LOG test.example/log IS NOT SIGNED BY THE KEY THAT WAS GIVEN")
    assert "CANNOT BE TRUSTED" not in told.out
    assert cloister("audit", "verify", "--key", key, "--json").json["exit_code"] == 4


def test_the_proof_of_what_was_handed_over_says_so(answered: Place, cloister: Cloister, alone: Path) -> None:
    log = load_site(answered.root / "site.yaml").log
    handed = {"type": "exported", "run": "", "handed": {"user": "mallory"}}
    with audit.Log.open(answered.root / "audit", key_path=answered.root / log.key, public_key=log.public_key) as writer:
        number = writer.commit([handed])
    assert cloister("audit", "prove", str(number), "-o", alone / "p", "--workspace", answered.root).code == 0
    told = cloister("audit", "check", alone / "p", "--key", public_key(answered))
    assert (told.code, "It was handed to the log" in told.out) == (0, True)
    assert "handed to the log" not in cloister("audit", "prove", "0", "--workspace", answered.root).out
