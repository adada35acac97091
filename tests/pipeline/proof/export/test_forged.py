"""Exports that somebody made to look whole: no verdict but a whole one may be given for what was proved."""

import hashlib
import json
import shutil
from base64 import b64encode
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from audit.merkle import root_hash, split_hashes
from audit.sign import open_signer, sign_note
from audit.standalone import NAMED
from pipeline import Site
from tests.pipeline.conftest import make_site
from tests.pipeline.proof.export.conftest import rotated
from tests.pipeline.proof.export.logs import DAYS, check, document, fill, names

ROOT = b64encode(hashlib.sha256(b"").digest()).decode()


def with_sums(folder: Path) -> None:
    digests = [(hashlib.sha256((folder / n).read_bytes()).hexdigest(), n) for n in names(folder) if n != "SHA256SUMS"]
    (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for digest, name in digests))


def tell(folder: Path, **changed: Any) -> bytes:
    """export.json with other members, and with the sha256 that the files have now."""
    about = {**json.loads((folder / "export.json").read_bytes()), **changed}
    about["files"] = {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in about["files"]}
    body = audit.canonical(about) + b"\n"
    (folder / "export.json").write_bytes(body)
    return body


@pytest.mark.parametrize("root", ["", "=", "AA==", ROOT[:-1], ROOT + "=", b64encode(bytes(31)).decode()])
@pytest.mark.parametrize("size", ["0", "702"])
def test_a_checkpoint_without_a_root_proves_nothing(
    made: tuple[Site, Path], copy: Path, tmp_path: Path, root: str, size: str
) -> None:
    """Whoever makes a key can sign that a log has no root; then nothing was left that could be wrong."""
    site, _ = made
    kept = Path(shutil.copy(site.audit / "checkpoint", tmp_path / "kept"))
    audit.generate_key(tmp_path / "own", site.origin)
    for signer in (open_signer(tmp_path / "own"), open_signer(site.key_file)):
        for own in (False, True):
            text = f"{site.origin}\n{size}\n{root}\nsegment-bytes 1\n"
            (copy / "log/checkpoint").write_bytes(sign_note(text, signer))
            if own:
                (copy / "keys/log.pub").write_text(audit.public_key_of(tmp_path / "own") + "\n")
            (copy / "records.jsonl").write_bytes(b"")
            tell(copy)
            with_sums(copy)
            for arguments in ([], ["--key", site.public_key], ["--key", site.public_key, "--against", kept]):
                code, out = check(copy, *arguments)
                assert (code, "WHOLE" in out) == (1, False), out


@pytest.mark.parametrize("size", ["-1", "-256", "1000000000000000000", "9" * 400, "00", "+1", "1_0", "0x1", "٣"])
def test_a_checkpoint_of_a_size_that_no_log_has_is_wrong(made: tuple[Site, Path], copy: Path, size: str) -> None:
    """Even if the log's own key signed it; and it is no loop without an end."""
    text = f"{made[0].origin}\n{size}\n{ROOT}\nsegment-bytes 1\n"
    (copy / "log/checkpoint").write_bytes(sign_note(text, open_signer(made[0].key_file)))
    tell(copy, size=0)
    with_sums(copy)
    assert check(copy, "--key", made[0].public_key)[0] == 1


def records_of(folder: Path, first: int, end: int) -> None:
    """Only these are left in records.jsonl."""
    about = json.loads((folder / "export.json").read_bytes())
    lines = (folder / "records.jsonl").read_bytes().splitlines(keepends=True)
    chosen = lines[first - about["first"] : end - about["first"]] if first < end else []
    (folder / "records.jsonl").write_bytes(b"".join(chosen))


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(
    ("first", "end", "bundles", "away"),
    [(300, 300, [256, 301], []), (0, 0, [0, 1], ["001", "002.p/190"]), (0, 0, [0, 0], ["001", "002.p/190"]),
     (701, 701, [512, 701], ["001"]), (512, 600, [512, 601], ["001"]), (512, 600, [256, 601], []),
     (300, 512, [256, 512], ["002.p/190"]), (300, 599, [256, 600], [])],
)  # fmt: skip
def test_records_cannot_be_left_out_even_by_who_has_the_log_record_it(
    tmp_path: Path, first: int, end: int, bundles: list[int], away: list[str], recorded: bool
) -> None:
    """A range with fewer entries, without the bundles of the others; unsigned, or signed by the log's own key."""
    site = make_site(tmp_path / "ws")
    fill(site, dict(zip(DAYS, (300, 300, 101), strict=True)))
    pipeline.export(site, tmp_path / "out", date(2026, 11, 2), date(2026, 11, 2))
    folder = tmp_path / "out"
    records_of(folder, first, end)
    for name in away:
        (folder / "log/tile/entries" / name).unlink(missing_ok=True)
    (folder / "export.proof").unlink()
    body = tell(folder, first=first, end=end, bundles=bundles)
    if recorded:
        body = tell(folder, first=first, end=end, bundles=bundles, **state_of(site))
        commit_record(site, folder, body)
    with_sums(folder)
    code, out = check(folder, "--key", site.public_key)
    assert (code, "none left out" in out) == (1, False), out


def state_of(site: Site) -> dict[str, object]:
    checkpoint = audit.read_checkpoint(site.audit, site.public_key)
    return {"size": checkpoint.size, "root": checkpoint.root.hex()}


def commit_record(site: Site, folder: Path, body: bytes, **more: object) -> None:
    """The log's record of what export.json says now, with the log as it is after that, and its proof."""
    about = json.loads(body)
    told = {name: about[name] for name in ("from", "before", "first", "end")}
    with audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key) as log:
        sha256 = hashlib.sha256(body).hexdigest()
        n = log.commit([{"type": "exported", "run": "", "export_sha256": sha256, **told, **more}])
    shutil.rmtree(folder / "log")
    audit.write_tlog_tiles(site.audit, site.public_key, folder / "log", range(*about["bundles"]))
    (folder / "export.proof").write_text(audit.prove(site.audit, site.public_key, n))


@pytest.mark.parametrize(
    ("more", "code"),
    [({}, 0), ({"handed": {"user": "mallory"}}, 1), ({"type": "verified"}, 1), ({"first": 299}, 1), ({"end": 601}, 1),
     ({"before": "2026-11-03T00:00:00.000001Z"}, 1), ({"export_sha256": "0" * 64}, 1)],
)  # fmt: skip
def test_only_a_record_of_the_logs_own_proves(tmp_path: Path, more: dict[str, object], code: int) -> None:
    """What was handed over, by whoever may write to state/, proves nothing."""
    site = make_site(tmp_path / "ws")
    fill(site, dict(zip(DAYS, (300, 300, 101), strict=True)))
    pipeline.export(site, tmp_path / "out", date(2026, 11, 2), date(2026, 11, 2))
    commit_record(site, tmp_path / "out", tell(tmp_path / "out", **state_of(site)), **more)
    with_sums(tmp_path / "out")
    found, out = check(tmp_path / "out", "--key", site.public_key)
    assert found == code, out


def test_a_record_of_an_earlier_state_does_not_prove_it_of_a_later_one(tmp_path: Path) -> None:
    """Entries that stand between the range's state and the record would be left out without a word."""
    site = make_site(tmp_path / "ws")
    fill(site, {DAYS[0]: 5})
    pipeline.export(site, tmp_path / "out")
    about = tell(tmp_path / "out")
    fill(site, {DAYS[1]: 3})
    commit_record(site, tmp_path / "out", about)
    with_sums(tmp_path / "out")
    code, out = check(tmp_path / "out", "--key", site.public_key)
    assert (code, "WRONG    export.json: not the one of which entry 9 of the log tells" in out) == (1, True), out


def test_without_its_record_an_export_has_to_have_all_up_to_the_checkpoint(tmp_path: Path) -> None:
    """Its `size` is signed by nobody: the last entries cannot be left out by saying that they came later."""
    site = make_site(tmp_path / "ws")
    fill(site, {DAYS[0]: 300})
    pipeline.export(site, tmp_path / "out", date(2026, 11, 1), date(2026, 11, 1))
    folder, hashes = tmp_path / "out", (tmp_path / "out/log/tile/0/000").read_bytes()
    (folder / "export.proof").unlink()
    records_of(folder, 0, 256)
    tell(folder, end=256, size=256, bundles=[0, 256], root=root_hash(split_hashes(hashes)).hex())
    with_sums(folder)
    code, out = check(folder, "--key", site.public_key)
    assert (code, "WRONG    records.jsonl: entry 256 is of the range too, and was left out" in out) == (1, True), out


HOSTILE = "\x1b[2J\x1b]0;x\x07\x9b31m\u202eWHOLE\u2066\r\n\x00\x7f\u2028"


def test_nothing_of_an_export_reaches_the_terminal_as_it_is(
    made: tuple[Site, Path], copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names, origins, times, members, sums: whatever is shown of them."""
    about = json.loads((copy / "export.json").read_bytes())
    (copy / "export.proof").unlink()
    for name in about:
        for value in (HOSTILE, {HOSTILE: HOSTILE}, [HOSTILE]):
            (copy / "export.json").write_bytes(audit.canonical({**about, name: value}) + b"\n")
            with_sums(copy)
            assert is_plain(check(copy)[1])
    (copy / "export.json").write_bytes(audit.canonical(about) + b"\n")
    for name in ("\x1b[2J.txt", "\u202egpj.exe", "a\nWHOLE", "keys/rotated-\x9b.proof", "\udcff"):
        (copy / name).write_text("x")
        code, out = check(copy)
        assert (code, is_plain(out)) == (1, True)
        (copy / name).unlink()
    for file in ("SHA256SUMS", "keys/log.pub", "log/checkpoint", "export.json"):
        data = (copy / file).read_bytes()
        (copy / file).write_bytes(data + HOSTILE.encode())
        assert is_plain(check(copy)[1])
        (copy / file).write_bytes(data)
    assert capsys.readouterr().out == ""


def is_plain(text: str) -> bool:
    return all(" " <= char <= "~" or char == "\n" for char in text) and "WHOLE\n" not in text


def test_an_origin_that_is_not_ascii_is_read(tmp_path: Path) -> None:
    site = make_site(tmp_path / "ws")
    key = tmp_path / "key"
    public = audit.generate_key(key, "bücher.example/log")
    shutil.rmtree(site.audit)
    site = replace(site, origin="bücher.example/log", key_file=key, public_key=public)
    audit.Log.create(site.audit, key_path=key, public_key=public)
    fill(site, {DAYS[0]: 3})
    pipeline.export(site, tmp_path / "out")
    code, out = check(tmp_path / "out", "--key", public)
    assert (code, is_plain(out.removesuffix("WHOLE\n"))) == (0, True), out


@pytest.mark.parametrize("option", ["--key", "--against"])
def test_an_option_that_is_empty_is_no_option(
    made: tuple[Site, Path], tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--key "$KEY"` with nothing in KEY, or a kept file that is empty: not as if nothing had been asked."""
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(SystemExit) as ended:
        check(made[1], option, tmp_path / "empty" if option == "--against" else "")
    assert (ended.value.code, capsys.readouterr().out) == (2, "")


def test_a_kept_checkpoint_with_a_cosignature_before_the_logs_own(made: tuple[Site, Path], tmp_path: Path) -> None:
    text, _, own = (made[0].audit / "checkpoint").read_bytes().partition(b"\n\n")
    line = "— ada ".encode() + b64encode(b"1234" + bytes(72)) + b"\n"
    for lines in (line + own, own + line):
        (tmp_path / "kept").write_bytes(text + b"\n\n" + lines)
        assert check(made[1], "--against", tmp_path / "kept")[0] == 0
    (tmp_path / "kept").write_bytes(text + b"\n\n" + line)
    code, out = check(made[1], "--against", tmp_path / "kept")
    assert (code, "WRONG    --against: not a checkpoint: none of the keys here signed it" in out) == (1, True), out


def test_folders_nested_without_end_are_named(copy: Path) -> None:
    (copy / ("d/" * 200)).mkdir(parents=True)
    code, out = check(copy)
    assert (code, f"WRONG    {'d/' * 12}d: no part of the export" in out) == (1, True), out


def test_the_record_of_an_export_is_the_entry_just_behind_it(tmp_path: Path) -> None:
    """Also where it is the first of a bundle, and the log's last entry is of the range too."""
    site = make_site(tmp_path / "ws")
    with audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key) as log:
        log.commit([document(i) for i in range(256)])
    exported = pipeline.export(site, tmp_path / "out")
    assert (exported.records, exported.recorded.n) == (256, 256)
    assert check(tmp_path / "out", "--key", site.public_key)[0] == 0


def test_a_handover_with_more_signatures_than_two_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log takes none, and a note full of them would be hours of work to check."""
    site, rotate = make_site(tmp_path / "ws"), audit.rotation.format_rotation

    def twice(*arguments: Any) -> dict[str, Any]:
        made = rotate(*arguments)
        return {**made, "note": made["note"] + made["note"].splitlines(keepends=True)[-1]}

    monkeypatch.setattr(audit.log, "format_rotation", twice)
    fill(site, {DAYS[0]: 5})
    old, site = site.public_key, rotated(site)
    folder = tmp_path / "out"
    pipeline.export(site, folder)
    (folder / "keys/until-000000000005.pub").write_text(old + "\n")
    proof = audit.prove(site.audit, site.public_key, 5, (folder / "log/checkpoint").read_bytes())
    (folder / "keys/rotated-000000000005.proof").write_text(proof)
    (folder / "export.proof").unlink()
    tell(folder, files=[name for name in names(folder) if name in NAMED or "until" in name])
    with_sums(folder)
    code, out = check(folder, "--key", old)
    assert (code, "WRONG    keys/rotated-000000000005.proof: " in out) == (1, True), out
