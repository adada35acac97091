"""Each role by its group: the real users.conf and roles.conf, and processes with the numbers of such users.

The numbers need no accounts. It has to be root; systemd-tmpfiles and systemd-sysusers need no running systemd.
"""

import contextlib
import json
import os
import shutil
import stat
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine import compiling
from tests.jobs import confined
from tests.jobs.conftest import SORT

CONFIGS = Path(__file__).parents[2] / "configs" / "systemd"
OWNER = 31_000
NOBODY = 31_009
GROUPS = {"cloister-operator": 31_001, "cloister-reviewer": 31_002, "cloister-auditor": 31_003}
COMPUTE = {"owner": OWNER, "cloister-auditor": GROUPS["cloister-auditor"] + 1000}
"""Who computes -> the user's number."""
WORKSPACE = "/srv/cloister"
COMMAND = [sys.executable, "-P", "-c", "from jobs.cli import main; main()"]
_ACL_GROUP = 0x08  # acl(5): ACL_GROUP, a named one

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("systemd-tmpfiles") or not confined.others_may_run(),
    reason="needs root, systemd-tmpfiles, and a Python and repository that other users reach",
)


def has_lists(folder: Path) -> bool:
    """Whether the file system keeps access control lists."""
    try:
        os.setxattr(folder, "system.posix_acl_access", struct.pack("<I", 2) + b"".join(
            struct.pack("<HHI", tag, 7, 0xFFFFFFFF) for tag in (0x01, 0x04, 0x20)))  # fmt: skip
    except OSError:
        return False
    return True


def copy_if_there(source: str, target: str) -> None:
    """Copy a file of the cache, which other tests may be about to replace."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copy(source, target)


def give(folder: Path, user: int) -> None:
    """Make all that lies in a folder this user's."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)


class Roles:
    """A workspace whose rights roles.conf gave, and processes of its users."""

    def __init__(self, folder: Path) -> None:
        self.root, self._caches = folder / "ws", folder / "caches"
        for who, number in COMPUTE.items():  # with what is compiled already, which test_confined.py does anew
            shutil.copytree(compiling.FOLDER, self._caches / who / compiling.FOLDER.name, copy_function=copy_if_there)
            give(self._caches / who, number)

    def call(self, who: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program as somebody, who sees the workspace as /srv/cloister."""
        group = {**GROUPS, "owner": OWNER, "nobody": NOBODY}[who]
        cache = {"/var/cache/cloister": self._caches / who} if who in COMPUTE else {}

        def become() -> None:
            confined.called(confined.unshare_mounts())
            confined.show_alone({WORKSPACE: self.root, **cache}, ("/srv", "/var/cache", "/tmp"))
            os.setgroups([])
            os.setgid(group)
            os.setuid(group + (1000 if who in GROUPS else 0))

        environment = os.environ | {"HOME": "/tmp", "CLOISTER_WORKSPACE": WORKSPACE}
        environment["CLOISTER_CACHE"] = next(iter(cache), "/tmp")
        return subprocess.run(
            words, preexec_fn=become, env=environment, cwd="/", capture_output=True, text=True, check=False
        )

    def entries(self) -> list[dict[str, Any]]:
        """The entries of the log."""
        segments = sorted((self.root / "audit" / "entries").iterdir())
        return [json.loads(line) for segment in segments for line in segment.read_text().splitlines()]

    def cloister(self, who: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Cloister as somebody."""
        return self.call(who, *COMMAND, *words)


@pytest.fixture(scope="module")
def roles(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Roles:
    """A workspace in which an operator dropped two documents, and the service's user ran the job."""
    folder = tmp_path_factory.mktemp("roles")
    if not has_lists(folder):
        pytest.skip("this file system keeps no access control lists")
    made = Roles(folder)
    made.root.mkdir(mode=0o750)
    give(made.root, OWNER)
    began = made.cloister("owner", "init", WORKSPACE, "--origin", "test.example/log")
    assert began.returncode == 0, began.stderr
    (made.root / "jobs" / "sort.yaml").write_text(SORT.format(name="sort", afterwards="archive"))
    shutil.copy(tiny_model, made.root / "models" / "tiny.gguf")
    give(made.root, OWNER)
    text = (CONFIGS / "roles.conf").read_text().replace(WORKSPACE, str(made.root))
    for name, number in {**GROUPS, "cloister": OWNER}.items():
        text = text.replace(f":{name}:", f":{number}:")
    (folder / "roles.conf").write_text(text.replace(" cloister cloister\n", f" {OWNER} {OWNER}\n"))
    create = ["systemd-tmpfiles", "--create", str(folder / "roles.conf")]
    done = subprocess.run(create, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    dropped = made.call("cloister-operator", "sh", "-c", (
        f"mkdir -p {WORKSPACE}/inbox/sort/new && cd {WORKSPACE}/inbox/sort/new && "
        "echo 'The tenant leases the flat.' > lease.txt && : > empty.txt"
    ))  # fmt: skip
    assert dropped.returncode == 0, dropped.stderr
    ran = made.cloister("owner", "run", "sort")
    assert ran.returncode == 1, ran.stderr
    return made


def test_users_are_made_as_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    with (CONFIGS / "users.conf").open() as file:
        subprocess.run(["systemd-sysusers", f"--root={tmp_path}", "-"], stdin=file, check=True, capture_output=True)
    groups = {line.split(":")[0] for line in (tmp_path / "etc" / "group").read_text().splitlines()}
    assert groups == {*GROUPS, "cloister", "cloister-keyholder"}
    (user,) = (tmp_path / "etc" / "passwd").read_text().splitlines()
    assert user.startswith("cloister:x:")
    assert user.endswith(f":{WORKSPACE}:/usr/sbin/nologin")


ALLOWED = {
    "cloister-operator": ["check sort", "status"],
    "cloister-reviewer": ["results"],
    "cloister-auditor": ["audit verify", "audit replay --sample 100%", "audit controls"],
}
REFUSED = {
    "cloister-operator": {"results": (2, "/srv/cloister/outbox: Permission denied"), "run sort": (2, "signing key")},
    "cloister-reviewer": {"review accept ROW --as Ada": (2, "/srv/cloister/keys/review.key: Permission denied")},
    "cloister-auditor": {"audit hold new/lease.txt --reason r": (2, "signing key")},
}


@pytest.mark.parametrize(("who", "words"), [(who, words) for who, all in ALLOWED.items() for words in all])
def test_what_a_role_may_do(roles: Roles, who: str, words: str) -> None:
    done = roles.cloister(who, *words.split())
    assert done.returncode == 0, done.stderr
    assert "not recorded" not in done.stderr


@pytest.mark.parametrize(("who", "words"), [(who, words) for who, all in REFUSED.items() for words in all])
def test_what_a_role_may_not_do_is_told_in_one_message(roles: Roles, who: str, words: str) -> None:
    code, told = REFUSED[who][words]
    row = next(entry["n"] for entry in roles.entries() if entry["type"] == "document" and entry["state"] == "done")
    done = roles.cloister(who, *words.replace("ROW", str(row)).split())
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert f"run this as user {OWNER}" in done.stderr


def test_what_a_role_read_is_in_the_log_under_its_name(roles: Roles) -> None:
    assert roles.cloister("cloister-reviewer", "results").returncode == 0
    assert roles.cloister("owner", "results").returncode == 0  # whoever writes the log takes up what was handed over
    handed = [entry["handed"] for entry in roles.entries() if entry["type"] == "read.results" and "handed" in entry]
    assert str(GROUPS["cloister-reviewer"] + 1000) in {each["user"] for each in handed}


FILES = {
    "cloister-operator": {"jobs": "rw", "inbox": "rw", "failed": "some", "audit": "r", "outbox": "", "archive": ""},
    "cloister-reviewer": {"jobs": "r", "inbox": "", "failed": "r", "audit": "r", "outbox": "r", "archive": "r"},
    "cloister-auditor": {"jobs": "r", "inbox": "", "failed": "r", "audit": "r", "outbox": "r", "archive": "r"},
    "owner": dict.fromkeys(("jobs", "inbox", "failed", "audit", "outbox", "archive", "keys", "private"), "rw"),
    "nobody": {},
}
LOOK = """\
import os, sys
root, *tops = sys.argv[1:]
for top in (f"{root}/{name}" for name in tops):
    files = [f"{folder}/{name}" for folder, _, names in os.walk(top) for name in names]
    read = os.access(top, os.R_OK | os.X_OK) and all(os.access(file, os.R_OK) for file in files)
    some = not read and any(os.access(file, os.R_OK) for file in files)
    print(top.rpartition("/")[2], "some" * some + "r" * read + "w" * os.access(top, os.W_OK))
"""


@pytest.mark.parametrize("who", FILES)
def test_the_table_of_folders_holds_for_what_runs_made(roles: Roles, who: str) -> None:
    """By the kernel's own judgement. Of failed/ operators read the reasons, and not the documents."""
    tops = ("jobs", "inbox", "outbox", "archive", "failed", "audit", "private", "keys")
    done = roles.call(who, sys.executable, "-c", LOOK, WORKSPACE, *tops)
    said = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    assert said == {top: FILES[who].get(top, "") for top in tops}, done.stderr


def test_nothing_is_for_everybody(roles: Roles) -> None:
    open_to_all = [path for path in roles.root.rglob("*") if path.lstat().st_mode & stat.S_IRWXO]
    assert [path for path in open_to_all if not str(path).endswith((".yaml", ".gguf"))] == []  # made by this test


def test_root_is_refused_in_it(roles: Roles) -> None:
    done = subprocess.run(
        [*COMMAND, "status", "--workspace", str(roles.root)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"belongs to user {OWNER}, who could not read what root makes in it" in done.stderr


def test_a_backup_is_for_the_owner(roles: Roles) -> None:
    """What is told to others is not that the disk of the backups is full."""
    done = roles.cloister("cloister-auditor", "backup", "/tmp/b")
    assert done.returncode == 2
    assert f"{WORKSPACE}/" in done.stderr
    assert "Permission denied" in done.stderr
    assert "run this as" in done.stderr
    assert "make room" not in done.stderr
