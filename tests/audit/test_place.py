from pathlib import Path

import pytest

import audit
from audit import place

MOUNTS = r"""
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
22 21 0:20 / /tmp rw - tmpfs tmpfs rw
23 21 0:50 / /srv/data rw - nfs4 server:/export rw,vers=4.2
24 23 254:1 / /srv/data/local rw - xfs /dev/vdb rw
25 21 0:51 / /mnt/with\040space rw - fuse.sshfs host:/ rw
26 21 0:52 / /mnt/over rw - ext4 /dev/vdc rw
27 21 0:53 / /mnt/over rw - cifs //server/share rw
28 21 0:54 / /mnt/layers rw - overlay overlay rw,lowerdir=/a
29 21 0:55 / /mnt/ntfs rw - fuseblk /dev/sdb1 rw
""".strip()


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/var/lib/cloister/audit", "ext4", False),
        ("/tmp/x", "tmpfs", False),
        ("/tmpfs-not", "ext4", False),
        ("/srv/data", "nfs4", True),
        ("/srv/data/audit", "nfs4", True),
        ("/srv/data/local/audit", "xfs", False),
        ("/srv/database", "ext4", False),
        ("/mnt/with space/audit", "fuse.sshfs", True),
        ("/mnt/over/audit", "cifs", True),
        ("/mnt/layers/audit", "overlay", False),
        ("/mnt/ntfs/audit", "fuseblk", False),
    ],
)
def test_the_deepest_mount_decides(path: str, kind: str, network: bool) -> None:
    assert place.file_system(MOUNTS, Path(path)) == kind
    assert place.is_network(kind) == network


def test_a_log_on_a_network_file_system_is_refused(
    tmp_path: Path, site: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Path("/proc/self/mountinfo").read_text() + f"99 1 0:99 / {tmp_path} rw - nfs server:/x rw\n"
    real = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path, **k: table if "mountinfo" in str(path) else real(path, **k))
    with pytest.raises(audit.LogUnwritable, match="network file system \\(nfs\\)"):
        site.open()  # type: ignore[attr-defined]
    with pytest.raises(audit.LogUnwritable, match="network file system"):
        audit.Log.create(tmp_path / "new", key_path=site.key_path, public_key=site.public_key)  # type: ignore[attr-defined]


def test_the_folder_of_the_tests_is_local(tmp_path: Path) -> None:
    place.refuse_network(tmp_path)
    place.refuse_network(Path("/dev/shm/new/folder"))
