"""`cloister audit key`: a key is made, shown and replaced; and an earlier one still verifies the log."""

from pathlib import Path

import audit
from jobs.config.load import load_site
from tests.jobs.conftest import Cloister, Place


def public_key(place: Place) -> str:
    return load_site(place.root / "site.yaml").log.public_key


def test_a_new_key(cloister: Cloister, tmp_path: Path, place: Place) -> None:
    made = cloister("audit", "key", "new", tmp_path / "a.key", "--origin", "witness.example/ada", "--json").json
    assert made["public_key"].startswith("witness.example/ada+")
    assert audit.public_key_of(tmp_path / "a.key") == made["public_key"]
    assert cloister("audit", "key", "show", tmp_path / "a.key").out == made["public_key"] + "\n"
    assert "PRIVATE" not in cloister("audit", "key", "show", tmp_path / "a.key", "--json").out
    assert cloister("audit", "key", "new", tmp_path / "b.key").out.count("test.example/log+") == 1  # the workspace's
    again = cloister("audit", "key", "new", tmp_path / "a.key")
    assert (again.code, "never overwritten" in again.err) == (2, True)
    assert cloister("audit", "key", "new", tmp_path / "c.key", "--origin", "a b").code == 2
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0o644)
    refused = cloister("audit", "key", "new", tmp_path / "c.key", "--passphrase-file", tmp_path / "secret")
    assert (refused.code, "others may read it" in refused.err) == (2, True)
    (tmp_path / "secret").chmod(0o600)
    done = cloister("audit", "key", "new", tmp_path / "c.key", "--passphrase-file", tmp_path / "secret")
    assert (done.code, "protected by a passphrase" in done.out) == (0, True)
    assert cloister("audit", "key", "show", tmp_path / "secret").code == 2


def test_a_key_is_replaced_and_the_old_one_still_verifies(cloister: Cloister, place: Place) -> None:
    first = public_key(place)
    (kept := place.root / "kept").write_bytes((place.root / "audit/checkpoint").read_bytes())
    done = cloister("audit", "key", "rotate")
    assert (done.code, "take it away" in done.out, public_key(place) in done.out) == (0, True, True)
    told = cloister("audit", "key", "rotate", "--json").json
    assert (told["n"], told["old_file"], told["file"]) == (1, "keys/log-2.key", "keys/log-3.key")
    assert told["new_key"] == public_key(place)

    shown = cloister("audit", "key", "show", "--json").json
    assert (shown["trusted"], shown["signed_by"], shown["exit_code"]) == (True, public_key(place), 0)
    assert [(each["public_key"], each["until"]) for each in shown["earlier"]] == [(first, 0), (told["old_key"], 1)]
    lines = cloister("audit", "key", "show").out
    assert lines.count("signs nothing any more; take it away") == 2

    verified = cloister("audit", "verify", "--key", first, "--json").json
    assert (verified["ok"], verified["trusted"], verified["signed_by"]) == (True, first, public_key(place))
    assert "handed over   at entry 1 to " + public_key(place) in cloister("audit", "verify", "--key", first).out
    assert cloister("audit", "verify", "--against", kept).code == 0
    stranger = audit.generate_key(place.root / "stranger", "test.example/log")
    refused = cloister("audit", "verify", "--key", stranger)
    assert (refused.code, "NOT SIGNED BY" in refused.out) == (4, True)


def test_a_site_yaml_from_before_is_told_what_to_write(cloister: Cloister, place: Place) -> None:
    before = (place.root / "site.yaml").read_text()
    cloister("audit", "key", "rotate")
    now = public_key(place)
    (place.root / "site.yaml").write_text(before)
    failed = cloister("status")
    assert (failed.code, "`cloister audit key show` tells" in failed.err) == (4, True)
    shown = cloister("audit", "key", "show")
    assert shown.code == 4
    assert f"key: keys/log-2.key\n              public_key: {now}\n" in shown.out
    (place.root / "audit/checkpoint").write_text("nothing")
    shown = cloister("audit", "key", "show")
    assert (shown.code, "NOT SIGNED BY IT" in shown.out) == (4, True)


def test_a_rotation_that_cannot_be_ended_says_so(cloister: Cloister, place: Place) -> None:
    before = (place.root / "site.yaml").read_text()
    cloister("audit", "key", "rotate")
    after = (place.root / "site.yaml").read_text()
    (place.root / "site.yaml.next").write_text(after)
    (place.root / "site.yaml").write_text(before)
    (place.root / "site.yaml.tmp").mkdir()  # so it cannot be written
    stuck = cloister("status")
    assert (stuck.code, "run any command as the user who owns" in stuck.err) == (2, True)
    (place.root / "site.yaml.tmp").rmdir()
    done = cloister("status")
    assert (done.code, "its rotation had been cut off" in done.err) == (0, True)
    assert (place.root / "site.yaml").read_text() == after
    assert not (place.root / "site.yaml.next").exists()


def test_rotation_mistakes(cloister: Cloister, place: Place) -> None:
    (place.root / "keys/bad").write_text("no key\n")
    (place.root / "keys/bad").chmod(0o600)
    assert cloister("audit", "key", "rotate", "keys/bad").code == 2
    (place.root / "secret").write_text("x")
    (place.root / "secret").chmod(0o644)
    refused = cloister("audit", "key", "rotate", "--passphrase-file", "secret")
    assert (refused.code, "others may read it" in refused.err) == (2, True)
    audit.generate_key(place.root / "keys/plain", "test.example/log")
    (place.root / "secret").chmod(0o600)
    refused = cloister("audit", "key", "rotate", "keys/plain", "--passphrase-file", "secret")
    assert (refused.code, "a key without a passphrase" in refused.err) == (2, True)
    (place.root / "keys/log.key").chmod(0o640)
    refused = cloister("audit", "key", "rotate")
    assert (refused.code, f"chmod 600 {place.root / 'keys/log.key'}" in refused.err) == (2, True)
    assert not (place.root / "site.yaml.next").exists()


def test_a_key_without_a_name_is_refused(cloister: Cloister, place: Place, tmp_path: Path) -> None:
    told = cloister("audit", "key", "new", tmp_path / "k", "--origin", "")
    assert (told.code, "'' cannot name a log" in told.err) == (2, True), told.err
