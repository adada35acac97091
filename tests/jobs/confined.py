"""A command under the restrictions of a systemd unit, made by hand where systemd does not run.

    python -m tests.jobs.confined UNIT WORKSPACE CACHE UID COMMAND...

It has to be root. The unit's file is read, and what it says is put in force: a mount namespace in which all but the
workspace (as /srv/cloister), the cache (as /var/cache/cloister) and an own /tmp can only be read, a network namespace
without a network, the user's number, no capabilities, no new privileges, umask, and a filter of system calls that
libseccomp makes, as it does for systemd. Not made by hand: PrivateDevices, ProtectClock and other things that only root
could use at all.
"""

import ctypes
import ctypes.util
import os
import re
import resource
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18  # linux/mount.h
_NEWNS, _NEWIPC, _NEWNET = 0x20000, 0x8000000, 0x40000000  # linux/sched.h
_NAMESPACES = {"mnt": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
               "pid": 0x20000000, "net": 0x40000000}  # fmt: skip
_CAPBSET_DROP, _NO_NEW_PRIVS = 24, 38  # linux/prctl.h
_FLAGS = {"nosuid": 2, "nodev": 4, "noexec": 8, "noatime": 1024, "nodiratime": 2048, "relatime": 1 << 21}
_ALLOW, _EPERM, _ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026  # seccomp.h: SCMP_ACT_ALLOW, SCMP_ACT_ERRNO(1), (38)
_NE, _MASKED_EQ = 1, 7  # seccomp.h: SCMP_CMP_NE, SCMP_CMP_MASKED_EQ
_HERE = {Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]}
_SETS_ID = (0o4000, 0o2000)

_libc = ctypes.CDLL(None, use_errno=True)


class Compare(ctypes.Structure):
    """struct scmp_arg_cmp"""

    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


def others_may_run() -> bool:
    """Whether another user reaches this Python and this repository: not where one lies in a folder of root's own, but
    in homes, whose folders `show_alone` makes anew."""
    paths = (Path(sys.executable), Path(sys.executable).resolve(), Path(__file__))
    above = {folder for path in _in_homes() for folder in path.parents}
    folders = {folder for path in paths for folder in path.parents}
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in folders - above)


def _in_homes() -> set[Path]:
    """What of this Python and this repository lies in a home, or among temporary files."""
    found = {path for path in _HERE if path.parts[1] in ("root", "home", "tmp")}
    return {path for path in found if not found & set(path.parents)}


def seccomp() -> ctypes.CDLL | None:
    """libseccomp, which systemd makes its filters with."""
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    library.seccomp_init.restype = ctypes.c_void_p
    return library


def settings(unit: Path) -> dict[str, list[str]]:
    """Key -> the values that a unit gives it, in their order."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        if "=" in line and line[0].isalpha():
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def calls(group: str) -> set[str]:
    """The system calls of a name such as @file-system, also those of groups in it."""
    if not group.startswith("@"):
        return {group}
    told = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True)
    lines = [line.strip() for line in told.stdout.splitlines()[1:]]
    return set().union(*(calls(line) for line in lines if line and not line.startswith("#")))


def allowed(said: dict[str, list[str]]) -> set[str]:
    """The system calls that the lines of SystemCallFilter leave; those of @default are always among them."""
    left = calls("@default")
    for line in said["SystemCallFilter"]:
        named = set().union(*(calls(each) for each in line.removeprefix("~").split()))
        left = left - named if line.startswith("~") else left | named
    return left


def filter_calls(said: dict[str, list[str]]) -> None:
    """Put the filters of a unit in force: of calls, of address families, of namespaces and of set-id modes."""
    families = [getattr(socket, name) for name in said["RestrictAddressFamilies"][0].split()]
    _load(_ALLOW, [(_EPERM, "socket", tuple(Compare(0, _NE, each, 0) for each in families))])
    forbidden = [flag for name, flag in _NAMESPACES.items() if name not in said["RestrictNamespaces"][0].split()]
    rules = [
        (_EPERM, call, (Compare(0, _MASKED_EQ, flag, flag),)) for call in ("unshare", "clone") for flag in forbidden
    ]
    _load(_ALLOW, [*rules, (_ENOSYS, "clone3", ())])
    modes = (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("mkdir", 1), ("mkdirat", 2))
    _load(_ALLOW, [(_EPERM, call, (Compare(at, _MASKED_EQ, bit, bit),)) for call, at in modes for bit in _SETS_ID])
    _load(_EPERM, [(_ALLOW, name, ()) for name in sorted(allowed(said))])


def _load(default: int, rules: list[tuple[int, str, tuple[Compare, ...]]]) -> None:
    library = seccomp()
    assert library
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(default)))
    for action, name, tests in rules:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # it is one of this architecture
            array = (Compare * len(tests))(*tests)
            count = ctypes.c_uint(len(tests))
            assert library.seccomp_rule_add_array(context, ctypes.c_uint32(action), number, count, array) == 0, name
    assert library.seccomp_load(context) == 0
    library.seccomp_release(context)


def confine(said: dict[str, list[str]], workspace: Path, cache: Path, uid: int) -> None:
    """Put this process under what a unit says."""
    called(_libc.unshare(_NEWNS | _NEWIPC | (_NEWNET if said["PrivateNetwork"] == ["yes"] else 0)))
    places = {"/srv/cloister": workspace, "/var/cache/cloister": cache}
    show_alone(places, ("/srv", "/var/cache", "/tmp", "/var/tmp"))
    _mount("proc", "/proc", "proc", 0, f"hidepid={said['ProtectProc'][0]}")
    for path in said["InaccessiblePaths"][0].replace("-/", "/").split():
        if Path(path).is_dir():
            _mount("tmpfs", path, "tmpfs", 0, "mode=0")
    for point, options in list(_mounts()):
        if not point.startswith((*places, "/tmp", "/var/tmp", "/dev", "/proc")):
            flags = sum(flag for name, flag in _FLAGS.items() if name in options)
            _mount(None, point, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(int(said["UMask"][0], 8))
    assert said["CapabilityBoundingSet"] == said["AmbientCapabilities"] == [""]
    for number in range(64):
        _libc.prctl(_CAPBSET_DROP, number, 0, 0, 0)
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    assert said["NoNewPrivileges"] == ["yes"]
    called(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    filter_calls(said)


def show_alone(places: Mapping[str, Path], hidden: Sequence[str]) -> None:
    """Hide what lies in these folders and in homes, in a mount namespace of this process, but for `places`: where a
    folder shall be -> the folder. Python itself stays, if it lies in a home."""
    wanted = {**places, **{str(path): path for path in _in_homes()}}
    kept = {place: os.open(folder, os.O_PATH) for place, folder in wanted.items()}
    os.umask(0o022)  # others pass through what is made here
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    for folder in ("/root", "/home", *hidden):
        _mount("tmpfs", folder, "tmpfs", 0, f"mode={'1777' if folder.endswith('tmp') else '755'}")
    for place, handle in kept.items():
        Path(place).mkdir(parents=True)
        _mount(f"/proc/self/fd/{handle}", place, None, _MS_BIND | _MS_REC)
        os.close(handle)


def _mounts() -> Iterator[tuple[str, list[str]]]:
    """(mount point, its options), by proc_pid_mountinfo(5)."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        words = line.split(" ")
        yield re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), words[4]), words[5].split(",")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    said = [text and text.encode() for text in (source, target, kind)]
    called(_libc.mount(*said, ctypes.c_ulong(flags), data and data.encode()))


def unshare_mounts() -> int:
    """Move this process into a mount namespace of its own; 0 where that worked."""
    return int(_libc.unshare(_NEWNS))


def called(result: int) -> None:
    """OSError for the result of a function of libc that says that it failed."""
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    unit, workspace, cache, uid, *command = sys.argv[1:]
    confine(settings(Path(unit)), Path(workspace), Path(cache), int(uid))
    os.execvp(command[0], command)
