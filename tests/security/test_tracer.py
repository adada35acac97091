"""The tracer sees what it must: each call is made on purpose, to an address of nobody, and none goes on."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.silence.seal import TRACED
from jobs.trust import deliberate, isolated
from jobs.trust.tracer import Trace, Where, trace
from tests.faults.hindered import UNHINDERED

pytestmark = pytest.mark.skipif(TRACED in os.environ, reason="a tracer looks at the tests themselves")
PYTHON = (sys.executable, "-P")
NATIVE = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def made(family=2): return libc.socket(family, 2, 0)
def address(last, family=2): return struct.pack("=H", family) + struct.pack("!H4B8x", 9, 192, 0, 2, last)
def message(raw):
    global kept
    kept = [ctypes.create_string_buffer(raw), ctypes.create_string_buffer(struct.pack("=QQ", 0, 0))]
    name, vector = (ctypes.addressof(each) for each in kept)
    return struct.pack("=QIxxxxQQQQIxxxx", name, len(raw), vector, 0, 0, 0, 0)
def half():
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, 8192, 3, 0x22, -1, 0)  # PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS
    libc.munmap(ctypes.c_void_p(at + 4096), 4096)
    return ctypes.c_void_p(at + 4086)
def told(result): print("passed" if result >= 0 else os.strerror(ctypes.get_errno()))
"""

REACHING = """
import socket
def test_it():
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0)); server.listen(); client.connect(server.getsockname())
    with socket.socket(type=socket.SOCK_DGRAM) as away:
        try: away.connect(("192.0.2.7", 9))
        except OSError: pass
"""


def traced(code: str, tmp_path: Path) -> tuple[Trace, list[str]]:
    """The trace of Python code, and the lines that it printed."""
    with (tmp_path / "out").open("w+b") as out:
        found = trace([*PYTHON, "-c", code], stdout=out)
        assert found.code == 0
        out.seek(0)
        return found, out.read().decode().splitlines()


def seen(found: Trace) -> list[tuple[str, str]]:
    return sorted((each.call, each.address) for each, _ in found.outside())


def test_calls_of_python_of_native_code_of_a_child_and_of_resolvers_are_seen() -> None:
    found = trace([*PYTHON, "-m", "jobs.trust.deliberate"])
    assert found.code == 0
    assert set(seen(found)) == set(deliberate.CALLS.values())
    assert {each.where for each, _ in found.outside()} == {Where.OUTSIDE, Where.NAME}
    assert all(each.program.startswith("python") for each in found.seen)
    assert len({each.pid for each in found.seen}) == 2


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("libc.connect(made(), address(7), 16)", ("connect", "192.0.2.7:9")),
        ("libc.bind(made(), address(7), 16)", ("bind", "192.0.2.7:9")),
        ("libc.sendto(made(), b'x', 1, 0, address(7), 16)", ("sendto", "192.0.2.7:9")),
        ("libc.sendto(made(), b'x', 1, 0, address(7, 0), 16)", ("sendto", "192.0.2.7:9")),
        ("libc.sendmsg(made(), message(address(7)), 0)", ("sendmsg", "192.0.2.7:9")),
        ("libc.sendmmsg(made(), message(address(7)) + bytes(8), 1, 0)", ("sendmmsg", "192.0.2.7:9")),
        ("libc.socket(17, 3, 0)", ("socket", "family 17, type 3, protocol 0")),
        ("libc.socket(2, 3, 1)", ("socket", "family 2, type 3, protocol 1")),
        ("libc.socket(2, 1, 132)", ("socket", "family 2, type 1, protocol 132")),
        ("libc.socketpair(30, 4, 0, (ctypes.c_int * 2)())", ("socketpair", "family 30, type 4, protocol 0")),
        ("libc.syscall(438, 0, 0, 0)", ("pidfd_getfd", "a descriptor of another process")),
        (
            "libc.syscall(249, b'dns_resolver', b'a.invalid', b'', 0)",
            ("request_key", "a key, for which a name may be resolved"),
        ),
        ("libc.connect(made(), ctypes.c_void_p(8), 16)", ("connect", "unknown")),
        ("libc.connect(made(), ctypes.c_void_p(-1), 16)", ("connect", "unknown")),
        ("libc.sendmsg(made(), half(), 0)", ("sendmsg", "unknown")),
    ],
)
def test_each_native_call_is_seen_and_fails_as_without_a_route(
    call: str, expected: tuple[str, str], tmp_path: Path
) -> None:
    found, lines = traced(f"{NATIVE}\ntold({call})", tmp_path)
    assert seen(found) == [expected]
    assert lines == ["Network is unreachable"]


def test_a_ring_does_not_pass_by(tmp_path: Path) -> None:
    found, lines = traced(f"{NATIVE}\ntold(libc.syscall(425, 8, ctypes.create_string_buffer(120)))", tmp_path)
    assert (found.rings, lines) == (1, ["Function not implemented"])


def test_what_stays_on_this_machine_goes_on(tmp_path: Path) -> None:
    code = """
import socket
with socket.socket() as server, socket.socket() as client:
    server.bind(("127.0.0.1", 0)); server.listen(); client.connect(server.getsockname()); print("loopback")
one, two = socket.socketpair()
socket.send_fds(one, [b"x"], [0]); print(socket.recv_fds(two, 1, 1)[0])
"""
    found, lines = traced(code, tmp_path)
    assert (found.outside(), found.sockets) == ([], 2)
    assert sorted(each.call for each in found.seen) == ["bind", "connect"]
    assert lines == ["loopback", "b'x'"]


def test_programs_may_be_excepted_by_name() -> None:
    found = trace([*PYTHON, "-m", "jobs.trust.deliberate"])
    (program,) = {each.program for each in found.seen}
    assert found.outside(but=[program]) == []


def test_a_suite_that_passes_but_is_not_silent_fails(tmp_path: Path) -> None:
    """`make silent` over a file of one test."""
    file = tmp_path / "test_reaching.py"
    file.write_text(REACHING)
    command = [sys.executable, "-m", "tests.security.silent", str(file), "-p", "no:cacheprovider"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert "1 passed" in done.stdout
    assert "1 times connect to 192.0.2.7:9 (outside), by python" in done.stdout
    assert "2 calls to loopback, 0 rings refused, 1 calls led out, and 0 of the browser" in done.stdout
    assert done.returncode == 1


def test_a_tracer_under_a_tracer_says_so(tmp_path: Path) -> None:
    code = "from jobs.trust.tracer import trace\ntry: trace(['true'])\nexcept Exception as error: print(error)"
    _, lines = traced(code, tmp_path)
    assert lines == ["another tracer looks at this process already (seccomp user notification)"]


def test_a_command_that_is_not_there_is_told() -> None:
    with pytest.raises(FileNotFoundError):
        trace(["/nowhere/command"])


def test_where_filters_are_not_allowed_it_is_told() -> None:
    """tests/faults/hindered.py forbids seccomp to its command."""
    hinder = Path(__file__).parents[1] / "faults" / "hindered.py"
    code = "from jobs.trust.tracer import trace\ntry: trace(['true'])\nexcept Exception as error: print(error)"
    done = subprocess.run(
        [sys.executable, str(hinder), "seccomp", *PYTHON, "-c", code], capture_output=True, text=True, check=False
    )
    if done.returncode == UNHINDERED:
        pytest.skip("no seccomp on this machine")
    assert "the kernel gives no tracer (the filter of system calls: Operation not permitted)" in done.stdout


def test_a_command_without_a_route_has_loopback_alone(tmp_path: Path) -> None:
    code = """
import os, socket
print(sorted(name for _, name in socket.if_nameindex()), os.getuid())
with socket.socket() as server, socket.socket() as client:
    server.bind(("127.0.0.1", 0)); server.listen(); client.connect(server.getsockname())
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as away:
    try: away.connect(("192.0.2.1", 9))
    except OSError as error: print(error.strerror)
"""
    done = subprocess.run(
        [*PYTHON, "-m", "jobs.trust.isolated", *PYTHON, "-c", code], capture_output=True, text=True, check=False
    )
    if done.returncode == isolated.NOT_ALLOWED:
        pytest.skip(done.stderr)
    assert done.stdout.splitlines() == [f"['lo'] {os.getuid()}", "Network is unreachable"]
    assert socket.if_nameindex()  # and this process stays where it was
