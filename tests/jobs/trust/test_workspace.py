"""The workspace: site, jobs, file systems, syncs, permissions, key and log, each made wrong and told."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import audit
from jobs.config.load import load_site
from jobs.trust.patient import Patient
from jobs.trust.secrets import key, log, permissions
from jobs.trust.workspace import SYNCS, disk, filesystem, jobs, judged, site, sync
from tests.jobs.conftest import SORT, Cloister, Place, held
from tests.jobs.trust.found import patient_of, said, told, tree

ROOT = Path(__file__).parents[3]
NOBODY = 65534
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


def test_site_and_jobs_that_are_in_order(ready: Place) -> None:
    patient = patient_of(ready)
    assert told(site, patient) == [("ok", "site.yaml can be read; the log is test.example/log.")]
    assert told(jobs, patient) == [("ok", "1 job can be planned, and its model is there.")]
    ready.job("more")
    assert told(jobs, patient_of(ready)) == [("ok", "2 jobs can be planned, and their models are there.")]


def test_an_input_folder_to_which_another_machine_writes_unseen(ready: Place, tmp_path: Path) -> None:
    inbox = ready.root / "inbox" / "sort"
    root = tmp_path / "machine"
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(f"22 1 0:20 / {inbox} rw - nfs4 server:/scans rw\n")
    sentence = "sort: inbox/sort lies on nfs4, where nobody sees another machine write"
    assert told(jobs, replace(patient_of(ready), root=root)) == [
        ("warning", f"{sentence}: files are taken when they were still for 0 s.")
    ]


def test_no_job(place: Place) -> None:
    assert told(jobs, patient_of(place)) == [("ok", "There is no job.")]


def test_jobs_that_are_broken(ready: Place) -> None:
    ready.job("odd", SORT + "more: 1\n")
    ready.job("absent", SORT.replace("name: tiny", "name: none"))
    (ready.root / "jobs" / "late.yml").touch()
    absent, odd, late = told(jobs, patient_of(ready))
    assert (absent[0], absent[1].startswith("absent: model none: there is no file")) == ("problem", True)
    assert (odd[0], odd[1].startswith("jobs/odd.yaml:10:1: unknown key 'more'; expected one of")) == ("problem", True)
    assert late == ("warning", "jobs/late.yml is no job: job files end in .yaml.")


def test_a_model_that_was_revoked(ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cloister("model", "revoke", "tiny", "--reason", "another one was tested").code == 0
    pinned = f"name: tiny, sha256: {hashlib.sha256((ready.root / 'models/tiny.gguf').read_bytes()).hexdigest()}"
    ready.job("sort", SORT.replace("name: tiny", pinned))
    ((level, sentence),) = told(jobs, patient_of(ready))
    assert (level, sentence.startswith("sort: model tiny: models/tiny.gguf")) == ("problem", True)
    assert "another one was tested" in sentence
    monkeypatch.setattr("jobs.trust.patient.READ_WHOLE", 0)
    assert [level for level, _ in told(jobs, patient_of(ready))] == ["ok"], "a long log is left to cloister check"
    (ready.root / "audit/checkpoint").unlink()
    assert [level for level, _ in told(jobs, patient_of(ready))] == ["ok"], "its own check tells that"


def test_documents_that_no_job_reads(ready: Place) -> None:
    inbox = ready.root / "inbox"
    ready.job("deep", SORT.replace("input: {{", "input: {{folder: inbox/post/new, "))
    ready.job("broken", "job: broken\n")
    for folder in ("sort", "broken", "post/new", "empty", "srot/today", ".hidden"):
        (inbox / folder).mkdir(parents=True, exist_ok=True)
    for name in ("sort/a.txt", "broken/b.txt", "post/new/c.txt", "srot/today/d.txt", ".hidden/e.txt", "f.txt"):
        (inbox / name).touch()
    unread = [each for each in told(jobs, patient_of(ready)) if "no job reads it" in each[1]]
    assert unread == [("warning", f"inbox/{name} lies there, and no job reads it.") for name in ("f.txt", "srot")]
    ready.job("all", SORT.replace("input: {{", "input: {{folder: inbox, "))
    assert not [each for each in told(jobs, patient_of(ready)) if "no job reads it" in each[1]]


def test_a_job_whose_folder_cannot_be_made(ready: Place) -> None:
    shutil.rmtree(ready.root / "inbox")
    (ready.root / "inbox").touch()
    ((level, sentence),) = told(jobs, patient_of(ready))
    assert (level, sentence.startswith("jobs/sort.yaml: ")) == ("problem", True)


def test_a_site_that_is_broken_does_not_hide_what_is_wrong_with_jobs(ready: Place) -> None:
    (ready.root / "site.yaml").write_text("log: 7\n")
    ready.job("odd", SORT + "more: 1\n")
    patient = patient_of(ready)
    assert patient.workspace is None
    first, rest = told(site, patient)
    assert (first[0], first[1].startswith("site.yaml:1:6: 'log' is ")) == ("problem", True)
    assert (rest[0], rest[1].startswith("What depends on site.yaml")) == ("problem", True)
    assert [level for level, _ in told(jobs, patient)] == ["problem"]
    ready.job("odd")
    assert told(jobs, patient) == [("ok", "2 jobs can be read.")]


def on(place: Place, tmp_path: Path, **kinds: str) -> list[tuple[str, str]]:
    """What is said where folders of the workspace lie on such file systems."""
    mounts = "".join(
        f"{n} 1 0:{n} / {place.root.resolve() / name} rw - {kind} what rw\n"
        for n, (name, kind) in enumerate(kinds.items(), 50)
    )
    root = tree(tmp_path / "root", proc_self_mountinfo=f"21 1 254:0 / / rw - ext4 /dev/vda rw\n{mounts}")
    return told(filesystem, replace(patient_of(place), root=root))


def test_kinds_of_file_systems(place: Place, tmp_path: Path) -> None:
    assert on(place, tmp_path) == [("ok", "The log lies on ext4, a local disk, as do its other folders.")]
    assert on(place, tmp_path, archive="xfs") == [("ok", "The log lies on ext4, a local disk; other folders on xfs.")]


@pytest.mark.parametrize(
    ("name", "kind", "level", "words"),
    [
        ("audit", "nfs4", "problem", "audit lies on a network share (nfs4)"),
        ("audit", "fuse.sshfs", "problem", "No run is begun."),
        ("audit", "vfat", "problem", "audit lies on vfat, which knows no owners"),
        ("audit", "overlay", "warning", "audit lies in a layer of a container"),
        ("outbox", "cifs", "warning", "outbox/ lie on a network share (cifs)"),
        ("archive", "tmpfs", "problem", "archive/ lie in memory (tmpfs)"),
    ],
)
def test_a_file_system_that_is_not_right(
    name: str, kind: str, level: str, words: str, place: Place, tmp_path: Path
) -> None:
    ((found, sentence),) = on(place, tmp_path, **{name: kind})
    assert (found, words in sentence) == (level, True)


MOUNTED = """
set -e
mount -t tmpfs -o size=8m,nr_inodes=300,mode=700 none "$1"
cp -a "$2/." "$1"
mkdir "$1/cache"
mount -o remount,ro "$1"
exec "$3" -P -c "$4" "$1"
"""
TELL = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from dataclasses import replace
from pathlib import Path
from jobs.trust.patient import Patient, find_patient
from jobs.trust.workspace import disk, filesystem
place = Path(sys.argv[1])
cached = Patient()
cached.__dict__["machine"] = replace(cached.machine, kernels=place / "cache" / "kernels")
for finding in [*disk(find_patient(place)), *filesystem(find_patient(place)), *disk(cached)]:
    print(finding.state, finding.evidence)
"""


def test_a_disk_in_memory_that_is_small_full_of_files_and_read_only(place: Place, tmp_path: Path) -> None:
    """A real one, in a mount namespace of its own."""
    (tmp_path / "disk").mkdir()
    scripted = ["sh", "-c", MOUNTED, "sh", str(tmp_path / "disk"), str(place.root), sys.executable, TELL]
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine gives no mount namespaces")
    done = subprocess.run(["unshare", "-Urm", *scripted], capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    full, files, memory, read_only, cache = done.stdout.splitlines()
    assert full.startswith("problem The disk of ")
    assert full.endswith("is nearly full: 8 MiB are free.")
    assert files.startswith("problem ")
    assert files.endswith("more files only.")
    assert "lies in memory (tmpfs), and is gone when the machine stops" in memory
    assert read_only.endswith("lies on a file system that is mounted read-only.")
    assert cache.startswith("warning The disk of the engine's cache")


def test_a_disk_with_room(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1 << 40, 1 << 39, 1 << 39))  # type: ignore[attr-defined]
    assert told(disk, patient_of(place)) == [("ok", f"512.0 GiB of 1,024.0 GiB are free on the disk of {place.root}.")]
    assert [level for level, _ in told(disk, Patient())] == ["ok"]


def test_syncs_are_measured_and_nothing_stays(place: Place) -> None:
    before = sorted(place.root.rglob("*"))
    (finding,) = sync(patient_of(place))
    assert 0 <= finding.figures["median_ms"] <= finding.figures["worst_ms"]  # type: ignore[operator]
    assert "a commit has about 5 of them" in finding.evidence
    assert sorted(place.root.rglob("*")) == before


def test_syncs_that_reach_no_disk(place: Place, ram_folder: Path) -> None:
    """A log in memory, which is another file system than that of the workspace: no name is ever there."""
    if audit.file_system_of(ram_folder) != "tmpfs":
        pytest.skip("no tmpfs on this machine")
    shutil.move(place.root / "audit", ram_folder / "audit")
    (place.root / "audit").symlink_to(ram_folder / "audit")
    ((level, sentence),) = told(sync, patient_of(place))
    assert (level, "faster than any disk" in sentence) == ("warning", True)
    assert sorted(each.name for each in (ram_folder / "audit").iterdir()) == ["checkpoint", "entries", "lock", "tile"]


def test_syncs_that_are_slow(place: Place) -> None:
    for taken in ([30.0] * 9, [1.0] * 9 + [2500.0]):
        ((level, sentence),) = said([judged(taken, place.root)])
        assert (level, sentence.endswith("Commits are slow here.")) == ("warning", True)
    ((_, sentence),) = said([judged([3.0, 1.0, 2.0], place.root)])
    assert "takes 2.00 ms (median of 3), at worst 3.00 ms; a commit has about 5 of them, 10 ms" in sentence


def test_so_many_syncs_has_a_commit(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(place) as opened:
        opened.commit([{"type": "test", "run": ""}] * 300)
        real, count = os.fsync, []
        monkeypatch.setattr(os, "fsync", lambda fd: (count.append(fd), real(fd))[1])
        opened.commit([{"type": "test", "run": ""}])
    assert len(count) == SYNCS


@pytest.fixture
def reachable(cloister: Cloister) -> Iterator[Place]:
    """A workspace that every user of this machine can reach, as versions before 2026-11-27 made it."""
    folder = Path(tempfile.mkdtemp(prefix="cloister-reachable-"))
    folder.chmod(0o755)
    assert cloister("init", folder / "ws").code == 0
    for path in (folder / "ws", *(each for each in (folder / "ws").iterdir() if each.name not in ("keys", "private"))):
        path.chmod(0o755 if path.is_dir() else 0o644)
    if not all(each.stat().st_mode & 1 for each in folder.parents):
        pytest.skip("the folder of temporary files is not reached by others")
    yield Place(folder / "ws")
    shutil.rmtree(folder)


def test_a_workspace_that_others_can_reach(reachable: Place) -> None:
    ((level, sentence),) = told(permissions, patient_of(reachable))
    expected = (
        "Everybody on this machine may read inbox/, outbox/, archive/, failed/, state/ with the texts of documents."
    )
    assert (level, sentence) == ("warning", expected)
    (reachable.root / "jobs").chmod(0o757)
    assert "Everybody may write to " in told(permissions, patient_of(reachable))[0][1]
    (reachable.root / "jobs").chmod(0o755)
    reachable.root.chmod(0o750)
    ((level, sentence),) = told(permissions, patient_of(reachable))
    assert (level, "nobody else may read its keys" in sentence) == ("ok", True)


@pytest.mark.parametrize(
    ("path", "mode", "level", "words"),
    [
        ("keys", 0o750, "problem", "Others may use keys/ (mode 0750)"),
        ("private", 0o705, "problem", "Others may use private/ (mode 0705)"),
        ("keys/log.key", 0o640, "problem", "Others may use the key keys/log.key (mode 0640)"),
        ("jobs", 0o770, "warning", "A group may write to jobs, "),
        ("site.yaml", 0o660, "warning", "A group may write to site.yaml, "),
    ],
)
def test_a_right_that_is_too_wide(path: str, mode: int, level: str, words: str, place: Place) -> None:
    (place.root / path).chmod(mode)
    ((found, sentence),) = told(permissions, patient_of(place))
    assert (found, sentence.startswith(words)) == (level, True)


@root_only
def test_somebody_else_s_workspace(reachable: Place) -> None:
    reachable.root.chmod(0o750)
    for path in (reachable.root, *reachable.root.rglob("*")):
        os.chown(path, NOBODY, -1)
    ((level, sentence),) = told(permissions, patient_of(reachable))
    assert (level, "and this looks at it as root" in sentence) == ("warning", True)
    for path in (reachable.root, *reachable.root.rglob("*")):
        os.chown(path, 0, -1)
    reachable.root.chmod(0o755)
    patient = patient_of(reachable)
    os.seteuid(NOBODY)
    try:
        findings = told(permissions, patient)
    finally:
        os.seteuid(0)
    (last,) = [sentence for level, sentence in findings if "may not write to" in sentence]
    assert "audit" in last


def test_the_key_is_that_of_the_log(place: Place) -> None:
    assert told(key, patient_of(place)) == [("ok", "keys/log.key is the key that site.yaml trusts.")]


def test_a_key_that_is_missing_open_to_others_or_another_one(place: Place) -> None:
    file = place.root / "keys" / "log.key"
    file.chmod(0o644)
    ((level, sentence),) = told(key, patient_of(place))
    assert (level, "others may read it (mode 0644)" in sentence) == ("problem", True)
    file.unlink()
    ((level, sentence),) = told(key, patient_of(place))
    assert (level, "cannot be read: No such file" in sentence) == ("problem", True)
    audit.generate_key(file, "test.example/log")
    ((level, sentence),) = told(key, patient_of(place))
    assert (level, " but site.yaml trusts " in sentence) == ("problem", True)


@pytest.fixture
def protected(place: Place, tmp_path: Path) -> Place:
    """A workspace whose key has a passphrase, which nothing gives."""
    (tmp_path / "secret").write_text("open sesame")
    (tmp_path / "secret").chmod(0o600)
    shutil.rmtree(place.root / "audit")
    file, said = place.root / "keys" / "log.key", place.root / "site.yaml"
    file.unlink()
    before = load_site(said).log.public_key
    now = audit.generate_key(file, "test.example/log", tmp_path / "secret")
    said.write_text(said.read_text().replace(before, now))
    return place


def test_a_passphrase(protected: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    patient = replace(patient_of(protected), root=tmp_path)
    assert told(key, patient) == [("problem", "keys/log.key has a passphrase, and nothing gives it.")]
    unit = "[Service]\nLoadCredentialEncrypted=cloister-key-passphrase:/etc/cloister/key-passphrase.cred\n"
    tree(tmp_path / "etc/systemd/system", **{"cloister-serve@.service": unit})
    ((level, sentence),) = told(key, patient)
    assert (level, "cloister-serve@.service gives to its service" in sentence) == ("ok", True)
    said = protected.root / "site.yaml"
    said.write_text(said.read_text().replace("  key: ", f"  passphrase_file: {tmp_path}/secret\n  key: "))
    ((level, sentence),) = told(key, patient_of(protected))
    assert (level, sentence.endswith("secret opens it.")) == ("ok", True)
    (tmp_path / "secret").write_text("sesame")
    ((level, sentence),) = told(key, patient_of(protected))
    assert (level, "does not open it" in sentence) == ("problem", True)


@pytest.fixture
def logged(place: Place) -> Place:
    with held(place) as opened:
        opened.commit([{"type": "test", "run": "", "what": n} for n in range(300)])
    return place


def test_a_log_whose_end_is_as_it_was_signed(logged: Place) -> None:
    sentence = "300 entries, all as they were signed; cloister audit verify checks results and documents too."
    assert told(log, patient_of(logged)) == [("ok", sentence)]
    with held(logged):
        assert told(log, patient_of(logged)) == [("ok", f"{sentence} Process {os.getpid()} writes to it.")]


def test_a_log_that_was_changed_long_before_its_end(logged: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = logged.root / "audit/entries/000000000000.jsonl"
    segment.write_bytes(segment.read_bytes().replace(b'"what":7}', b'"what":8}'))
    ((level, sentence),) = told(log, patient_of(logged))
    assert (level, "The log cannot be trusted: entry 7" in sentence) == ("problem", True)
    monkeypatch.setattr("jobs.trust.patient.READ_WHOLE", 299)
    ((level, sentence),) = told(log, patient_of(logged))
    assert (level, "whose end is as it was signed; cloister audit verify checks all of them too." in sentence) == (
        "ok",
        True,
    )


def test_a_log_that_was_cut_changed_or_has_no_lock(logged: Place) -> None:
    segment = logged.root / "audit/entries/000000000000.jsonl"
    body = segment.read_bytes()
    segment.write_bytes(body[:-9])
    ((level, sentence),) = told(log, patient_of(logged))
    assert (level, "The log cannot be trusted: entries: " in sentence) == ("problem", True)
    segment.write_bytes(body.replace(b'"what":299', b'"what":298'))
    ((level, sentence),) = told(log, patient_of(logged))
    assert (level, "entry 299" in sentence) == ("problem", True)
    segment.write_bytes(body)
    (logged.root / "audit/lock").unlink()
    assert told(log, patient_of(logged)) == [("problem", "audit/lock is missing, so no run can begin.")]
    (logged.root / "audit/checkpoint").unlink()
    ((level, sentence),) = told(log, patient_of(logged))
    assert (level, "checkpoint: missing" in sentence) == ("problem", True)


@root_only
def test_a_log_that_may_not_be_read(reachable: Place) -> None:
    patient = patient_of(reachable)
    (reachable.root / "audit").chmod(0o700)
    os.seteuid(NOBODY)
    try:
        ((level, sentence),) = told(log, patient)
    finally:
        os.seteuid(0)
    assert (level, sentence.startswith("The log cannot be read: ")) == ("problem", True)
