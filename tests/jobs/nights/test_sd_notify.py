"""What systemd is told, over a real socket: by the service itself, and what a watchdog hears of."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.nights.systemd import Systemd
from tests.jobs.conftest import LEASE, SORT, Place, entries
from tests.jobs.nights.serving import COMMAND, serve, wait_for

Told = list[dict[str, str]]


@contextlib.contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    """The socket of a manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        bound.settimeout(60)
        yield bound


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An address as NOTIFY_SOCKET has it."""
    return str(tmp_path / "notify") if request.param == "path" else f"@cloister-test-{os.getpid()}"


def heard(bound: socket.socket) -> Told:
    """What came until now, of each message its members."""
    told, bound_for = [], bound.gettimeout()
    bound.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            told.append(_members(bound.recv(4096)))
    bound.settimeout(bound_for)
    return told


def until(bound: socket.socket, member: str) -> Told:
    """What comes up to the first message with this member."""
    told = [_members(bound.recv(4096))]
    while member not in told[-1]:
        told.append(_members(bound.recv(4096)))
    return told


def _members(message: bytes) -> dict[str, str]:
    return dict(line.split("=", 1) for line in message.decode().split("\n"))


def test_a_beat_is_told_four_times_in_the_time_of_the_watchdog(address: str) -> None:
    now = [0.0]
    asked = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "8000000", "WATCHDOG_PID": str(os.getpid()), "LANG": "C"}
    with listening(address) as bound, Systemd.of_environment(asked, lambda: now[0]) as systemd:
        assert asked == {"LANG": "C"}, "it is for no child"
        assert systemd.watched
        systemd.doing = lambda: "waits"
        systemd.ready()
        assert heard(bound) == [{"READY": "1", "STATUS": "waits"}]
        stopping, told = [False], []
        asks = systemd.hears(lambda: stopping[0])
        for now[0] in (0.0, 0.5, 1.9, 2.0, 2.1, 4.0):
            assert not asks()
            told.append(heard(bound))
        beat = [{"WATCHDOG": "1", "STATUS": "waits"}]
        assert told == [beat, [], [], beat, [], beat]
        stopping[0] = True
        assert asks()
        assert asks()
        assert [said.get("STOPPING") for said in heard(bound)] == ["1"]


def test_only_the_thread_that_serves_shows_that_the_service_gets_on(address: str) -> None:
    now = [0.0]
    with listening(address) as bound, Systemd(address, 8.0, lambda: now[0]) as systemd:
        asks = systemd.hears(lambda: False)
        other = threading.Thread(target=asks)
        other.start()
        other.join()
        assert heard(bound) == []
        asks()
        assert len(heard(bound)) == 1


@pytest.mark.parametrize(
    ("environment", "watched"),
    [
        ({}, False),
        ({"NOTIFY_SOCKET": "vsock:2:1"}, False),
        ({"NOTIFY_SOCKET": "/run/none", "WATCHDOG_USEC": "5000000"}, True),
        ({"NOTIFY_SOCKET": "/run/none", "WATCHDOG_USEC": "5000000", "WATCHDOG_PID": "1"}, False),
        ({"NOTIFY_SOCKET": "/run/none", "WATCHDOG_USEC": "0"}, False),
        ({"WATCHDOG_USEC": "5000000"}, False),
    ],
)
def test_where_nobody_listens_nothing_happens(environment: dict[str, str], watched: bool) -> None:
    with Systemd.of_environment(dict(environment)) as systemd:
        assert systemd.watched is watched
        systemd.ready()
        systemd.reloading()
        systemd.hears(lambda: True)()


def test_a_service_tells_its_life(ready: Place, address: str) -> None:
    """The watchdog is told often here, so that each step of a run shows."""
    with listening(address) as bound:
        told = Told()
        with serve(ready, NOTIFY_SOCKET=address, WATCHDOG_USEC="400000") as served:
            told += until(bound, "READY")
            assert told[-1]["STATUS"] == "1 jobs, 0 wait"
            assert len(told) == 1, "before it is ready it tells nothing"
            told += until(bound, "WATCHDOG")
            for number in range(300):
                ready.drop("sort", f"{number}.txt", f"{LEASE} Flat {number}.\n")
            while not told[-1].get("STATUS", "").startswith("sort runs: "):
                told += until(bound, "WATCHDOG")
            wait_for(served, "run finished")
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            heard(bound)
            served.send_signal(signal.SIGHUP)
            reloading = until(bound, "RELOADING")
            assert before <= int(reloading[-1]["MONOTONIC_USEC"]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            assert "READY" in until(bound, "READY")[-1]
            served.terminate()
            assert until(bound, "STOPPING")[-1]["STOPPING"] == "1"
            out, err = served.communicate(timeout=600)
    assert served.returncode == 0, (out, err)
    assert [entry["problem"] for entry in entries(ready, "service.reloaded")] == [None]


def test_when_the_watchdog_bites_the_service_says_where_it_was(ready: Place, tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with listening(address) as bound, serve(ready, NOTIFY_SOCKET=address, WATCHDOG_USEC="400000") as served:
        until(bound, "READY")
        served.send_signal(signal.SIGABRT)  # as systemd does then
        _, err = served.communicate(timeout=600)
    assert served.returncode == -signal.SIGABRT
    assert "(most recent call first)" in err
    assert "service.py" in err


def test_a_run_from_a_shell_does_not_look_for_systemd(ready: Place, tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    ready.drop("sort", "lease.txt", LEASE)
    ready.job("sort", SORT)
    with listening(address) as bound:
        command = [*COMMAND, "run", "sort", "--workspace", str(ready.root)]
        subprocess.run(command, check=True, env=os.environ | {"NOTIFY_SOCKET": address}, capture_output=True)
        assert heard(bound) == []
