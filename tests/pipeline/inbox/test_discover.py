"""Every path has one state."""

import os
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline import Input, scan
from pipeline.inbox import discover
from pipeline.inbox.batches import Sightings
from pipeline.inbox.discover import Scan
from pipeline.text.visible import shown


def test_sorted_settled_and_ignored(tmp_path: Path) -> None:
    for name in ["b.txt", "a/z.txt", "a/b.PDF", "note.tmp", "~$open.docx", ".git/config"]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    os.mkfifo(tmp_path / "pipe.txt")
    now = (tmp_path / "b.txt").stat().st_ctime
    found = scan(Input(tmp_path, ("*.txt", "a/*.pdf"), 5.0, "archive"), now + 100)
    assert [c.path for c in found.ready] == ["b.txt", "a/b.PDF", "a/z.txt"]
    assert not found.settling
    assert dict(found.ignored).keys() == {"note.tmp", "~$open.docx", ".git/config", "pipe.txt"}
    young = scan(Input(tmp_path, ("*",), 5.0, "archive"), now + 1)
    assert not young.ready
    assert "taken when still for 5 s" in young.settling[0][1]


def test_a_file_from_the_future_is_taken_when_it_was_seen_to_be_still(tmp_path: Path) -> None:
    path, clock = tmp_path / "a.txt", [100.0]
    path.write_text("a")
    source, now, sightings = (
        Input(tmp_path, ("*",), 5.0, "archive"),
        path.stat().st_ctime - 3600,
        Sightings(lambda: clock[0]),
    )

    def look(seconds: float) -> Scan:
        clock[0] += seconds
        return scan(source, now, sightings=sightings)

    assert look(0).settling == (("a.txt", "has times in the future; watched for 0.0 s, taken when still for 5 s"),)
    assert look(4.9).settling == (("a.txt", "has times in the future; watched for 4.9 s, taken when still for 5 s"),)
    path.write_text("ab")
    assert "watched for 0.0 s" in look(0.2).settling[0][1]
    assert not look(4.9).ready
    assert [each.path for each in look(0.1).ready] == ["a.txt"]
    path.rename(tmp_path / "b.txt")
    look(0)
    (tmp_path / "b.txt").rename(path)
    assert look(0).settling  # it was away, and what is no longer seen is forgotten
    assert scan(source, now).settling  # a single look knows nothing
    assert scan(source, path.stat().st_ctime + 6).ready  # where the clocks agree, the age tells
    assert scan(replace(source, settle_seconds=0.0), now).ready


def test_many_files_in_a_little_memory(tmp_path: Path) -> None:
    for i in range(5000):
        (tmp_path / f"letter number {i:08}.txt").touch()
    for include, state in (("*.txt", "ready"), ("*.pdf", "ignored")):
        tracemalloc.start()
        found = scan(Input(tmp_path, (include,), 0.0, "archive"))
        kept, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(getattr(found, state)) == 5000
        assert kept < 5000 * 400
        assert peak < 5000 * 500


def test_what_changes_while_the_folder_is_looked_through_is_not_still(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    begun = (tmp_path / "a.txt").stat().st_ctime - 0.01
    assert "times in the future" in scan(Input(tmp_path, ("*",), 5.0, "archive"), begun).settling[0][1]


def test_shown_names_are_always_text() -> None:
    assert shown("größe.txt") == "größe.txt"
    assert shown(os.fsdecode(b"\xff.txt")) == "\\xff.txt"


def test_a_folders_files_come_before_its_folders_and_links_are_not_followed(tmp_path: Path) -> None:
    for name in ["b/x/1", "b/2", "b-/3", "a/4", "c", "B"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("a")
    found = scan(Input(tmp_path, ("*",), 0.0, "archive"))
    assert [c.path for c in found.ready] == ["B", "c", "a/4", "b/2", "b/x/1", "b-/3"]
    assert found.ignored == (("link", "not a regular file: a symbolic link"),)
    (tmp_path / "b").rename(tmp_path.with_name("input"))
    (tmp_path / "b").symlink_to(tmp_path.with_name("input"))
    assert [c.path for c in scan(Input(tmp_path / "b", ("*",), 0.0, "archive")).ready] == ["2", "x/1"]


def test_a_modification_time_in_the_future_does_not_settle_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.touch()
    changed = path.stat().st_ctime
    os.utime(path, (changed + 9000, changed + 9000))
    source, changed = Input(tmp_path, ("*",), 5.0, "archive"), path.stat().st_ctime
    assert scan(source, changed + 1).settling == (("a.txt", "changed 1.0 s ago; taken when still for 5 s"),)
    assert len(scan(source, changed + 6).ready) == 1


LEFT = {  # a name that systems and programs leave -> how it is called
    "Thumbs.db": "Thumbs.db",
    "fotos/THUMBS.DB": "Thumbs.db",
    "ehthumbs_vista.db": "ehthumbs*.db",
    "Desktop.ini": "desktop.ini",
    "~$letter.docx": "~$*",
    "a.pdf:Zone.Identifier": "*Zone.Identifier",
    "a.pdf:zone.identifier:$DATA": "*:Zone.Identifier:*",
    "a.pdf\uf022Zone.Identifier": "*Zone.Identifier",
    "a.pdf:AFP_AfpInfo": "*:AFP_*",
    "$RECYCLE.BIN/S-1-5-21-1-2-3-1001/$IABCDEF.txt": "$RECYCLE.BIN/",
    "$Recycle.Bin/a.txt": "$RECYCLE.BIN/",
    "RECYCLER/S-1-5-21-1-2-3-500/Dc1.pdf": "S-1-5-21-*/",
    "System Volume Information/IndexerVolumeGuid": "System Volume Information/",
    "@eaDir/a.pdf@SynoEAStream": "@eaDir/",
    "2026/@eadir/a.pdf/SYNOFILE_THUMB_S.jpg": "@eaDir/",
    "a.pdf@SynoResource": "*@SynoResource",
    "#recycle/deleted.txt": "#recycle/",
    "share/#Recycle/2026/deleted.txt": "#recycle/",
    "@Recycle/deleted.txt": "@Recycle/",
    "letter.txt~": "*~",
    "#letter.txt#": "#*#",
    ".letter.txt.swp": ".*.sw[a-p]",
    "letter.pdf.download": "*.download",
    "letter.pdf.download/letter.pdf": "*.download/",
    "letter.pdf.OPDOWNLOAD": "*.opdownload",
    "letter.txt.sb-ab12cd34-XyZ12": "*.sb-????????-*",
    "a.tmp": "*.tmp",
    "A.TMP": "*.tmp",
    "a.part": "*.part",
    "a.pdf.filepart": "*.filepart",
    "a.partial": "*.partial",
    "a.pdf.crdownload": "*.crdownload",
    "lost+found/#12345": "lost+found/",
    ".Trash-1000/files/old.txt": ".Trash-*/",
    ".Trashes/501/old.txt": ".Trashes/",
    ".Spotlight-V100/store.db": ".Spotlight-V100/",
    ".fseventsd/0000": ".fseventsd/",
    ".AppleDouble/a.pdf": ".AppleDouble/",
    "._a.pdf": "._*",
    "__MACOSX/a.pdf": "__MACOSX/",
    ".DS_Store": ".DS_Store",
    "Icon\r": "Icon",
    ".nfs00000000000a1b2c00000001": ".nfs[0-9a-f]*",
    ".fuse_hidden0000001200000001": ".fuse_hidden*",
    ".~lock.letter.odt#": ".~lock.*#",
    ".smbdeleteAAA1": ".smbdelete*",
    ".syncthing.letter.pdf.tmp": ".syncthing.*",
    "~syncthing~letter.pdf.tmp": "~syncthing~*",
    ".owncloudsync.log": ".owncloudsync*",
    ".stversions/letter~20260101.txt": ".stversions/",
}
MADE = (  # names that people give
    "Thumbs.db.txt", "a.bak", "About Zone.Identifier.txt", "recycle/a.txt", "Recycled paper/a.txt", "downloads/a.txt",
    "#1.txt", "eaDir/a.txt", "parts/a.txt", "~draft.txt", "a~b.txt", "lost and found/a.txt", "x.sb-a.txt", "$5.txt",
)  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_names_that_only_systems_and_programs_give_are_passed_over(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    found = scan(Input(tmp_path, ("*",), 0.0, "archive"))
    reason = f"a name that only systems and programs give ({LEFT[name]})"
    assert (found.ready, found.ignored) == ((), ((shown(name), reason),))
    assert [*found.names.values()] == [1]


def test_names_that_people_give_are_taken(tmp_path: Path) -> None:
    for name in (*MADE, ".a"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = scan(Input(tmp_path, ("*",), 0.0, "archive"))
    assert {each.path for each in found.ready} == {*MADE}
    assert found.ignored == ((".a", "a hidden name"),)


def test_what_is_passed_over_is_counted_by_name(tmp_path: Path) -> None:
    for name in ("Thumbs.db", "a/thumbs.db", "b/Thumbs.db", "#recycle/a.txt", ".hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = scan(Input(tmp_path, ("*",), 0.0, "archive"))
    assert (found.names, len(found.ignored)) == ({"Thumbs.db": 3, "#recycle/": 1}, 5)


def test_an_unreadable_folder_is_held(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "b.txt").touch()
    try:
        locked.chmod(0)
        if os.access(locked, os.R_OK):
            pytest.skip("every folder can be read")
        (tmp_path / ".git").mkdir(0)
        found = scan(Input(tmp_path, ("*",), 0.0, "archive"))
        locked.chmod(0o400)
        listed = scan(Input(tmp_path, ("*",), 0.0, "archive"))
        locked.chmod(0)
        with pytest.raises(PermissionError):
            scan(Input(locked, ("*",), 0.0, "archive"))
    finally:
        locked.chmod(0o700)
    assert [c.path for c in found.ready] == ["a.txt"]
    assert found.held == (("locked", "held: cannot be looked at: Permission denied"),)
    assert listed.held == (("locked/b.txt", "held: cannot be looked at: Permission denied"),)
    assert found.ignored == listed.ignored == ((".git", "a hidden name"),)


def test_paths_too_long_for_the_system_are_told(tmp_path: Path) -> None:
    name, path, descriptor = "n" * 250, "", os.open(tmp_path, os.O_RDONLY)
    while len(f"{tmp_path}/{path}") < 4096:
        os.mkdir(name, dir_fd=descriptor)
        os.close(os.open("f" * 250, os.O_CREAT, dir_fd=descriptor))
        below = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        path, descriptor = os.path.join(path, name), below  # noqa: PTH118
    os.close(descriptor)
    found = scan(Input(tmp_path, ("*",), 0.0, "archive"))
    file = os.path.join(os.path.dirname(path), "f" * 250)  # noqa: PTH118, PTH120
    assert found.ignored == tuple((p, "cannot be looked at: File name too long") for p in (file, path))


def test_a_missing_input_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        scan(Input(tmp_path / "none", ("*",), 0.0, "archive"))


def test_what_is_gone_since_its_folder_was_listed_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").touch()
    listed = discover._listed
    gone = lambda folder, path: tuple([*names, "gone"] for names in listed(folder, path))  # noqa: E731
    monkeypatch.setattr(discover, "_listed", gone)
    found = scan(Input(tmp_path, ("*",), 0.0, "archive"))
    assert [c.path for c in found.ready] == ["a.txt"]
    assert not found.ignored


def test_deeply_nested_folders(tmp_path: Path) -> None:
    folders = [tmp_path]
    try:
        for _ in range(1100):
            folders.append(folders[-1] / "d")
            folders[-1].mkdir()
        for depth in (200, 201):
            (folders[depth] / "a.txt").touch()
        found = scan(Input(tmp_path, ("*",), 0.0, "archive"))
        assert [c.path for c in found.ready] == ["d/" * 200 + "a.txt"]
        assert found.ignored == (("/".join("d" * 201), "nested deeper than 200 folders"),)
    finally:
        for folder in reversed(folders[1:]):  # what removes tmp_path recurses
            (folder / "a.txt").unlink(missing_ok=True)
            folder.rmdir()
