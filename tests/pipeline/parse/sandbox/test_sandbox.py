"""What a locked process can still do, asked of a real one: forked, locked, and told to try."""

import json
import os
import platform
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pipeline.parse
from pipeline.kernel.call import Call, Check
from pipeline.kernel.seccomp import machine, program
from pipeline.parse.sandbox import REQUIRED
from pipeline.parse.sandbox.calls import OF_CHILDREN, OF_PROGRAMS

# Runs in an interpreter of its own, because a lock is for good: its arguments are the folder of the package, which lock
# to take, a file that it gets as a document, and what it tries, as Python. It prints one line of JSON.
PROGRAM = """
import ctypes, fcntl, json, mmap, os, sys, types
package = types.ModuleType("pipeline")
package.__path__ = [sys.argv[1]]
sys.modules["pipeline"] = package
import signal, socket, threading
from pipeline.parse import sandbox
from pipeline.parse.sandbox.calls import OF_CHILDREN, OF_PROGRAMS
from pipeline.parse.limits import Limits
libc = ctypes.CDLL(None, use_errno=True)
report, parent, me = fcntl.fcntl(1, fcntl.F_DUPFD, 200), os.getppid(), os.getpid()
document = os.open(sys.argv[3], os.O_RDONLY)
words = ctypes.create_string_buffer(bytes(64))
page = mmap.mmap(-1, 4096)
CODE = bytes.fromhex("b814000000cd80c3")  # mov eax, 20 (getpid of i386); int 0x80; ret
foreign = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
foreign.write(CODE)
def call(number, *arguments):
    "0, or the name of the error, of a system call by its number"
    values = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in arguments]
    ended = libc.syscall(ctypes.c_long(number), *values)
    return "done" if ended >= 0 else errno_names.get(ctypes.get_errno(), "?")
import errno
errno_names = errno.errorcode
def tried(act):
    try:
        act()
        return "done"
    except BaseException as error:
        return type(error).__name__
def start():
    if os.fork() == 0:
        os._exit(0)
def tell(outcome):
    os.write(report, json.dumps(outcome).encode())
lock = sys.argv[2]
if lock == "child":
    state = sandbox.lock(Limits(memory_bytes=256 * 2**20), parent) | {"no_network": sandbox_network}
elif lock == "program":
    state = sandbox.lock_program(Limits(memory_bytes=1 << 32), parent, [], ["/usr", "/bin", "/lib", "/lib64"])
"""

TRIES = """
tell({"state": state, "outcome": {name: tried(act) for name, act in {
    "open": lambda: os.open("/etc/hostname", os.O_RDONLY),
    "create": lambda: os.open("/tmp/cloister-should-not-be", os.O_CREAT | os.O_WRONLY),
    "look": lambda: os.stat("/etc/hostname"),
    "list": lambda: os.listdir("/"),
    "socket": lambda: socket.socket(),
    "unix_socket": lambda: socket.socketpair(),
    "fork": start,
    "thread": lambda: threading.Thread(target=int).start(),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "kill_parent": lambda: os.kill(parent, 0),
    "unlink": lambda: os.unlink("/tmp/cloister-should-not-be"),
    "memory": lambda: bytearray(300 * 2**20),
    "arithmetic": lambda: sum(range(1000)),
    "small_memory": lambda: bytearray(2**20),
    "cpu_time": lambda: sandbox.allow_seconds(1),
}.items()}})
"""

# What a parser that was taken over would do to its parent, to its document, to itself. Numbers are those of x86-64.
FORBIDDEN = """
tell({name: call(*arguments) for name, arguments in {
    "prlimit64 of the parent": (302, parent, 7, words, 0),
    "prlimit64 of the parent, asked": (302, parent, 7, 0, words),
    "prlimit64 of its own files": (302, 0, 7, words, 0),
    "setrlimit": (160, 7, words),
    "setpriority": (141, 0, parent, 19),
    "sched_setaffinity": (203, parent, 8, words),
    "sched_getaffinity of the parent": (204, parent, 64, words),
    "sched_setscheduler": (144, parent, 0, words),
    "ioprio_set": (251, 1, parent, 0),
    "fchmod": (91, document, 0o4755),
    "fchmodat2": (452, document, words, 0o4755, 0x1000),
    "fchown": (93, document, 65534, 65534),
    "fsetxattr": (190, document, b"user.evil", b"x", 1, 0),
    "fremovexattr": (199, document, b"user.evil"),
    "ftruncate": (77, document, 0),
    "fallocate": (285, document, 0, 0, 1),
    "utimensat": (280, document, 0, words, 0),
    "flock": (73, document, 2),
    "F_SETFL": (72, document, 4, 0o4000),
    "F_SETOWN": (72, document, 8, parent),
    "F_SETSIG": (72, document, 10, 9),
    "F_SETLEASE": (72, document, 1024, 0),
    "F_ADD_SEALS": (72, document, 1033, 1),
    "FIOASYNC": (16, document, 0x5452, words),
    "FS_IOC_SETFLAGS": (16, document, 0x40086602, words),
    "TIOCSTI": (16, 0, 0x5412, words),
    "memory to run": (9, 0, 4096, 5, 0x22, 0xFFFFFFFFFFFFFFFF, 0),
    "the heap to run": (10, ctypes.addressof(ctypes.c_char.from_buffer(page)), 4096, 7),
    "kill": (62, parent, 0),
    "kill of itself": (62, me, 0),
    "tkill": (200, parent, 0),
    "tgkill": (234, parent, parent, 0),
    "rt_sigqueueinfo": (129, parent, 9, words),
    "pidfd_open": (434, parent, 0),
    "ptrace": (101, 16, parent, 0, 0),
    "process_vm_readv": (310, parent, words, 1, words, 1, 0),
    "process_madvise": (440, 0, words, 1, 4, 0),
    "clone": (56, 17, 0, 0, 0, 0),
    "clone3": (435, words, 64),
    "vfork": (58,),
    "execve": (59, b"/bin/true", 0, 0),
    "execveat": (322, document, b"", 0, 0, 0x1000),
    "socket": (41, 1, 1, 0),
    "socketpair": (53, 1, 1, 0, words),
    "sendmsg": (46, 3, words, 0),
    "sendto somebody": (44, document, words, 1, 0, words, 16),
    "io_uring_setup": (425, 4, words),
    "memfd_create": (319, b"x", 0),
    "openat": (257, 0xFFFFFF9C, b"/proc/self/mem", 2),
    "open_by_handle_at": (304, document, words, 2),
    "newfstatat": (262, 0xFFFFFF9C, b"/etc/passwd", words, 0),
    "access": (21, b"/etc/passwd", 0),
    "capset": (126, words, words),
    "prctl": (157, 38, 1, 0, 0, 0),
    "seccomp": (317, 0, 0, 0),
    "unshare": (272, 0x10000000),
    "setuid": (105, 0),
    "personality": (135, 0x0400000),
    "setitimer": (38, 0, words, 0),
}.items()})
"""

pytestmark = pytest.mark.skipif(machine() is None, reason="an architecture that the lists do not know")
PROBES = {335, 336}  # the kernel's own trampolines (uretprobe, uprobe), which no filter sees: a caller gets SIGILL
ON_X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of x86-64")


def run(tried: str, document: Path, lock: str = "child") -> tuple[Any, int]:
    """What the program told, and how it ended."""
    folder = Path(pipeline.parse.__file__).parents[1]
    network = "sandbox_network = sandbox.leave_network()\nlock = "
    code = PROGRAM.replace("lock = ", network) + tried
    command = [sys.executable, "-c", code, str(folder), lock, str(document)]
    done = subprocess.run(command, capture_output=True, check=False)
    return json.loads(done.stdout or "null"), done.returncode


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "document"
    path.write_bytes(b"the bytes of a document")
    path.chmod(0o640)
    return path


def test_a_locked_process_can_compute_and_nothing_else(document: Path) -> None:
    outcome = run(TRIES, document)[0]["outcome"]
    assert outcome["arithmetic"] == outcome["small_memory"] == outcome["cpu_time"] == "done"
    assert outcome["memory"] == "MemoryError"
    for name in ("open", "create", "look", "list", "socket", "unix_socket", "exec", "kill_parent", "unlink"):
        assert outcome[name] == "PermissionError", name
    assert outcome["fork"] in {"PermissionError", "BlockingIOError"}
    assert outcome["thread"] == "RuntimeError"


def test_what_is_required_is_in_force_here(document: Path) -> None:
    """And it is said as it is: without Landlock or a namespace too."""
    state = run(TRIES, document)[0]["state"]
    assert {name: state[name] for name in REQUIRED} == dict.fromkeys(REQUIRED, True)
    assert set(state) >= {"no_files", "no_network", "few_open_files", "no_core_dumps"}


@ON_X86
def test_each_forbidden_call_is_refused_and_the_document_stays_as_it_is(document: Path) -> None:
    before = document.stat()
    outcome, code = run(FORBIDDEN, document)
    assert code == 0
    assert outcome == dict.fromkeys(outcome, "EPERM")
    after = document.stat()
    assert (after.st_mode, after.st_uid, after.st_mtime_ns, after.st_ctime_ns, after.st_size) == (
        before.st_mode, before.st_uid, before.st_mtime_ns, before.st_ctime_ns, before.st_size,
    )  # fmt: skip
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert os.listxattr(document) == []


@ON_X86
@pytest.mark.parametrize(("lock", "allowed"), [("child", OF_CHILDREN), ("program", OF_PROGRAMS)])
def test_every_call_that_is_in_no_list_is_refused(document: Path, lock: str, allowed: dict[str, Call]) -> None:
    """All numbers that the kernel may know, with arguments that do nothing."""
    known = {each.x86_64 for each in allowed.values()}
    others = [number for number in range(600) if number not in known | PROBES]
    tried = f"tell({{number: call(number, -1, 0, 0, 0, 0, 0) for number in {others}}})"
    outcome, code = run(tried, document, lock)
    assert code == 0
    assert outcome == {str(number): "EPERM" for number in others}


@ON_X86
@pytest.mark.parametrize(
    "tried",
    ["libc.syscall(ctypes.c_long(0x40000000 | 39))", "ctypes.CFUNCTYPE(ctypes.c_int)(at)()"],
    ids=["x32", "i386"],
)
def test_calls_in_the_way_of_another_architecture_end_the_process(document: Path, tried: str) -> None:
    prepared = "tell(1)\nat = ctypes.addressof(ctypes.c_char.from_buffer(foreign))\n"
    told, code = run(prepared + tried, document)
    assert (told, code) == (1, -signal.SIGSYS)


def test_capabilities_are_gone_also_within_a_namespace(document: Path) -> None:
    """As the kernel tells them, of a process that was locked: all sets but the one that is of no effect."""
    look = """
reading = os.fork()
if reading:
    os.waitpid(reading, 0)
    os._exit(0)
from pipeline.parse.sandbox import drop_capabilities
libc.prctl(38, *(ctypes.c_ulong(each) for each in (1, 0, 0, 0)))
dropped = drop_capabilities()
lines = open("/proc/self/status").read().splitlines()
tell({"dropped": dropped, **dict(line.split(":\\t") for line in lines if line.startswith(("Cap", "NoNew")))})
os._exit(0)
"""
    told, _ = run(look, document, lock="none")
    assert told.pop("dropped")
    assert told.pop("NoNewPrivs") == "1"
    told.pop("CapBnd")
    assert set(told.values()) == {"0000000000000000"}


@ON_X86
def test_what_is_to_become_a_program_opens_for_reading_alone_and_starts_nothing(document: Path) -> None:
    tried = """
tell({name: call(*arguments) for name, arguments in {
    "to write": (257, 0xFFFFFF9C, b"/usr/x", 1, 0), "to read and write": (257, 0xFFFFFF9C, b"/dev/null", 2, 0),
    "to create": (257, 0xFFFFFF9C, b"/tmp/x", 0o100, 0), "truncated": (2, b"/tmp/x", 0o1000, 0),
    "without a name": (257, 0xFFFFFF9C, b"/tmp", 0o20200000, 0),
    "to write and run": (9, 0, 4096, 7, 0x22, 0xFFFFFFFFFFFFFFFF, 0),
    "a thread": (56, 0x50F00, 0, 0, 0, 0), "a process": (57,), "a socket": (41, 2, 1, 0),
    "a limit of the parent": (302, parent, 7, words, 0), "a signal": (62, parent, 0), "a mode": (91, 0, 0o777),
    "a signal to a thread": (234, parent, parent, 0), "another's descriptor": (438, parent, 0, 0),
    "a path": (87, b"/tmp/x"),
}.items()})
"""
    outcome, _ = run(tried, document, lock="program")
    assert outcome == dict.fromkeys(outcome, "EPERM")


def test_a_program_reads_below_its_folders_alone(document: Path) -> None:
    tried = """
tell({"state": state, "own": tried(lambda: os.open("/usr/bin", os.O_RDONLY)),
      "other": tried(lambda: os.open(sys.argv[3], os.O_RDONLY)), "home": tried(lambda: os.listdir("/"))})
"""
    told, _ = run(tried, document, lock="program")
    if not told["state"]["no_files"]:
        pytest.skip("no Landlock on this machine")
    assert (told["own"], told["other"], told["home"]) == ("done", "PermissionError", "PermissionError")


def test_abort_still_dies_of_its_own_signal(document: Path) -> None:
    assert run("os.abort()", document)[1] == -signal.SIGABRT


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
@pytest.mark.parametrize("allowed", [OF_CHILDREN, OF_PROGRAMS], ids=["children", "programs"])
def test_the_filter_says_what_the_list_says(architecture: str, allowed: dict[str, Call]) -> None:
    """By the kernel's rules for such programs: each call, with the arguments that it needs and with others."""
    code = program(allowed, architecture, 4711)
    arch = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
    for call in allowed.values():
        number = call.x86_64 if architecture == "x86_64" else call.aarch64
        if number is None:
            continue
        for way in call.ways or ((),):
            assert decide(code, arch[architecture], number, arguments_of(way, 4711)) == "allow"
        if call.ways:
            assert decide(code, arch[architecture], number, [0xFFFF_FFFF_FFFF_FFFF] * 6) == "deny"
    numbers = {call.x86_64 if architecture == "x86_64" else call.aarch64 for call in allowed.values()}
    for number in set(range(600)) - numbers:
        assert decide(code, arch[architecture], number, [0] * 6) == "deny"
    for other in set(arch.values()) - {arch[architecture]} | {0x40000003}:
        assert decide(code, other, 1, [0] * 6) == "kill"
    assert decide(code, arch[architecture], 0x40000001, [0] * 6) == "kill"


def arguments_of(way: tuple[Check, ...], pid: int) -> list[int]:
    """Arguments that pass the tests, with every bit set that does not count."""
    given = [0xFFFF_FFFF_FFFF_FFFF] * 6
    for test in way:
        value = pid if test.value == -1 else test.value
        given[test.argument] = given[test.argument] & ~test.mask | value
    return given


def decide(code: bytes, arch: int, number: int, arguments: list[int]) -> str:
    """What a seccomp program (linux/filter.h) returns for a call."""
    data = number.to_bytes(4, "little") + arch.to_bytes(4, "little") + bytes(8)
    data += b"".join(each.to_bytes(8, "little") for each in arguments)
    place, held = 0, 0
    while True:
        operation, yes, no = (
            int.from_bytes(code[8 * place : 8 * place + 2], "little"),
            *code[8 * place + 2 : 8 * place + 4],
        )
        value, place = int.from_bytes(code[8 * place + 4 : 8 * place + 8], "little"), place + 1
        match operation:
            case 0x20:
                held = int.from_bytes(data[value : value + 4], "little")
            case 0x54:
                held &= value
            case 0x15:
                place += yes if held == value else no
            case 0x35:
                place += yes if held >= value else no
            case 0x06:
                return {0x7FFF0000: "allow", 0x80000000: "kill", 0x00050001: "deny"}[value]


def test_a_child_has_no_network_either_way(pool: pipeline.parse.ParserPool) -> None:
    assert pool.isolation["no_network"] or pool.isolation["system_call_filter"]
