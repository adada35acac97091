"""The guard in the process: Python's calls are refused, told of and recorded, and end the command; native code and
children are held by the kernel; the site's own commands are not."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.silence import guard
from jobs.silence.guard import Attempt, NetworkAttemptError, attempts, watching
from jobs.silence.seal import TRACED
from jobs.stop import Stop
from tests.jobs.conftest import LEASE, Cloister, Place, cloister, entries, place, ready  # noqa: F401

AWAY = ("192.0.2.1", 9)
PATCHED = """
import socket
import jobs.cli
load = jobs.cli.import_module
def patched(name):
    app = load(name)
    import jobs.cli.run as command
    begin = command.run_all
    def both(*arguments, **named):
        ACT
        return begin(*arguments, **named)
    command.run_all = both
    return app
jobs.cli.import_module = patched
jobs.cli.main()
"""
"""The command in a process of its own, in which something acts before the first run, after the process was held."""
NATIVE = """
import ctypes, os, sys
def told():
    libc = ctypes.CDLL(None, use_errno=True)
    pair, pid = (ctypes.c_int * 2)(), libc.syscall(434, os.getppid(), 0)
    tries = [lambda family=family: libc.socket(family, 2, 0) for family in (2, 10, 17, 40)]
    tries += [lambda: libc.syscall(425, 8, bytes(120)), lambda: libc.socketpair(30, 4, 0, pair)]
    tries += [lambda: libc.syscall(438, pid, 0, 0), lambda: libc.syscall(249, b"dns_resolver", b"a.invalid", b"", 0)]
    refused = [each() == -1 and ctypes.get_errno() == 1 for each in tries]
    return [refused, libc.socket(1, 2, 0) >= 0, libc.socket(16, 3, 0) >= 0, libc.socketpair(1, 1, 0, pair) == 0]
"""


def acting(act: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """`cloister` with these arguments, in which this is done first."""
    code = PATCHED.replace("ACT", act.strip().replace("\n", "\n        "))
    command = [sys.executable, "-P", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda: socket.socket(),
        lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
        lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
        lambda: socket.create_connection(AWAY),
        lambda: socket.getaddrinfo("cloister.invalid", 80),
        lambda: socket.gethostbyname("localhost"),
        lambda: socket.gethostbyaddr("127.0.0.1"),
        lambda: socket.getnameinfo(AWAY, 0),
    ],
)
def test_python_makes_no_internet_socket_and_resolves_no_name(
    call: Callable[[], Any], capfd: pytest.CaptureFixture[str]
) -> None:
    with watching():
        with pytest.raises(NetworkAttemptError):
            call()
        (attempt,) = attempts()
    assert attempt.by.startswith(f"{__file__}:")
    assert capfd.readouterr().err == f"network refused: {attempt}\n"


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_sockets_from_before_neither_connect_nor_bind_nor_send(family: int) -> None:
    address = AWAY if family == socket.AF_INET else ("2001:db8::1", 9)
    with socket.socket(family, socket.SOCK_DGRAM) as sock, watching():
        for call in (
            lambda: sock.connect(address),
            lambda: sock.connect_ex(address),
            lambda: sock.bind(address),
            lambda: sock.sendto(b"", address),
            lambda: sock.sendmsg([b""], [], 0, address),
        ):
            with pytest.raises(NetworkAttemptError):
                call()
        assert [each.call for each in attempts()] == ["connect", "connect", "bind", "sendto", "sendmsg"]


def test_a_message_without_an_address_goes_to_whom_the_socket_is_connected() -> None:
    """So asyncio writes from Python 3.12 on, and with it the console."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        with watching():
            assert client.sendmsg([b"page"]) == 4
            assert attempts() == ()
        accepted, _ = server.accept()
        with accepted:
            assert accepted.recv(9) == b"page"


def test_what_stays_on_this_machine_is_no_attempt(tmp_path: Path) -> None:
    with watching():
        one, two = socket.socketpair()
        socket.send_fds(one, [b"x"], [0])
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            server.bind(str(tmp_path / "s"))
            server.listen()
            client.connect(str(tmp_path / "s"))
        socket.socket(fileno=os.dup(two.fileno())).close()
        one.close()
        two.close()
        assert attempts() == ()


def test_a_door_lets_its_own_address_pass_alone() -> None:
    def door(call: str, family: int, address: object) -> bool:
        return family == socket.AF_INET and (call == "__new__" or (call == "bind" and address == ("127.0.0.1", 0)))

    with watching():
        with guard.except_for(door), socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            for call in (listener.bind, listener.connect):
                with pytest.raises(NetworkAttemptError):
                    call(AWAY)
            with pytest.raises(NetworkAttemptError):
                socket.socket(socket.AF_INET6)
        with pytest.raises(NetworkAttemptError):
            socket.socket()


def test_outside_of_a_command_nothing_is_refused() -> None:
    with watching(), pytest.raises(NetworkAttemptError):
        socket.socket()
    socket.socket().close()
    assert attempts() == ()


def test_an_attempt_of_any_thread_asks_the_command_to_stop() -> None:
    seen: list[BaseException] = []

    def reach() -> None:
        try:
            socket.socket()
        except NetworkAttemptError as error:
            seen.append(error)

    with Stop() as stop, watching():
        assert not stop()
        thread = threading.Thread(target=reach)
        thread.start()
        thread.join()
        assert (stop(), len(seen)) == (True, 1)


def test_an_attempt_ends_the_command_and_is_in_the_log(ready: Place) -> None:  # noqa: F811
    ready.drop("sort", "lease.txt", LEASE)
    done = acting(f"socket.create_connection({AWAY})", "run", "sort", "--json")
    assert done.returncode == 70
    assert "network refused: getaddrinfo to '192.0.2.1', by <string>:" in done.stderr
    assert (
        "something in its process reached for a network, and was refused" in json.loads(done.stdout)["error"]["message"]
    )
    (refused,) = entries(ready, "network.refused")
    assert [refused[name] for name in ("command", "call", "address")] == ["run", "getaddrinfo", "'192.0.2.1'"]
    assert not entries(ready, "document")


def test_who_swallows_the_refusal_only_comes_to_the_next_document(ready: Place) -> None:  # noqa: F811
    ready.drop("sort", "lease.txt", LEASE)
    act = "try: socket.socket()\nexcept BaseException: pass"
    done = acting(act, "run", "sort")
    assert done.returncode == 70
    assert len(entries(ready, "network.refused")) == 1
    assert not entries(ready, "document")


@pytest.mark.skipif(TRACED in os.environ, reason="a tracer looks at the tests themselves")
def test_native_code_and_children_get_no_socket_but_the_sites_own_command_does(ready: Place) -> None:  # noqa: F811
    """What `notify` names is started outside of the filter, and may gain privileges, as mailers do."""
    own = "import socket, re; socket.socket().close(); status = open('/proc/self/status').read();"
    own += "open('told', 'w').write(' '.join(re.findall(r'(?:NoNewPrivs|Seccomp):\\s+(\\d)', status)))"
    with (ready.root / "site.yaml").open("a") as site:
        site.write(f"notify: {json.dumps({'command': [sys.executable, '-c', own], 'on': ['success']})}\n")
    ready.drop("sort", "lease.txt", LEASE)
    child = "print(json.dumps(told()))"
    act = f"""
exec({NATIVE!r}, globals())
import json, subprocess
print(json.dumps(told()), file=sys.stderr)
subprocess.run([sys.executable, "-c", "import json;" + {NATIVE!r} + {child!r}], stdout=2)
"""
    done = acting(act, "run", "sort")
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
    assert told == [[[True] * 8, True, True, True]] * 2
    (started,) = entries(ready, "run.started")
    assert started["silence"] == {"audit_hook": True, "system_calls": "refused"}
    assert (ready.root / "told").read_text() == "0 0"


@pytest.mark.parametrize(
    ("words", "held"),
    [
        ("status", "2"),
        ("doctor", "2"),
        ("console people", "2"),
        ("console", "0"),
        ("doctor --egress", "0"),
        ("bundle create", "0"),
    ],
)
@pytest.mark.skipif(TRACED in os.environ, reason="a tracer looks at the tests themselves")
def test_each_command_is_held_by_the_kernel_but_those_that_are_named(words: str, held: str) -> None:
    """The console is later, when it listens."""
    tell = "print(re.findall(r'Seccomp:\\s+(\\d)', open('/proc/self/status').read())[0])"
    code = f"import atexit, re, jobs.cli\natexit.register(lambda: {tell})\njobs.cli.main()"
    command = [sys.executable, "-P", "-c", code, *words.split(), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == held


def test_whatever_goes_wrong_outside_who_asked_is_told() -> None:
    """And what is asked for next is started."""
    code = """
from jobs.silence import seal
seal.stay_outside()
try: seal.start(["true"], unknown=True)
except TypeError as error: print("told")
print(seal.start(["true"]).wait())
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.split() == ["told", "0"]


def test_in_a_process_of_others_the_kernel_holds_nothing(ready: Place, cloister: Cloister) -> None:  # noqa: F811
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    (started,) = entries(ready, "run.started")
    assert started["silence"] == {"audit_hook": True, "system_calls": "free"}


def test_an_attempt_is_told_in_one_line() -> None:
    assert str(Attempt("connect", "('192.0.2.1', 9)", "x.py:1")) == "connect to ('192.0.2.1', 9), by x.py:1"
