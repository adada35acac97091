"""Where a log may lie: on a local file system. Over a network neither flock nor fsync nor rename is worth what a commit
needs, and two machines could both believe that they are the one writer."""

import re
from pathlib import Path

from audit.errors import LogUnwritable

# fmt: off
_NETWORK = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "fhgfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
    "nfs4", "ocfs2", "orangefs", "pvfs2", "smb2", "smb3", "smbfs",
})
_NETWORK_FUSE = frozenset({
    "cephfs", "curlftpfs", "davfs", "gcsfuse", "glusterfs", "goofys", "juicefs", "mfs", "mount.davfs", "rclone", "s3fs",
    "seaweedfs", "sshfs",
})
# fmt: on


def refuse_network(folder: Path) -> None:
    """LogUnwritable if the folder, or the one it would be made in, lies on a network file system."""
    kind = file_system_of(folder)
    if is_network(kind):
        raise LogUnwritable(f"{folder}: lies on a network file system ({kind}); the log needs a local disk")


def file_system_of(folder: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> str:
    """The type of the file system that the folder lies on, or would be made on."""
    return file_system(mountinfo.read_text(encoding="utf-8", errors="surrogateescape"), folder.resolve())


def is_network(kind: str) -> bool:
    """Whether other machines may write to file systems of this type."""
    family, _, name = kind.partition(".")
    return kind in _NETWORK or (family == "fuse" and name in _NETWORK_FUSE)


def file_system(mountinfo: str, path: Path) -> str:
    """The type of the file system that `path` (absolute, resolved) lies on, by the deepest mount point above it;
    of several mounts on one point the last covers the others (proc_pid_mountinfo(5))."""
    best, kind = -1, "unknown"
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        point = Path(re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), before.split(" ")[4]))
        if path.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split(" ")[0]
    return kind
