"""The console as a process: how it starts and ends, on a port or a socket, and what it does not load."""

import http.client
import json
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.console.access.people import People
from jobs.console.rights import Role
from tests.console.conftest import PASSPHRASE, Browser
from tests.jobs.conftest import Cloister, Place, entries

_CHILD = """\
import atexit, sys
heavy = ("numba", "llvmlite", "onnxruntime", "torch")
def told(): print("loaded", *(name for name in heavy if name in sys.modules), file=sys.stderr)
atexit.register(told)
import jobs.cli
jobs.cli.main()
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(place: Place) -> Iterator[Start]:
    """Starts `cloister console` in a process of its own."""
    begun = list[subprocess.Popen[str]]()

    def started(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", "-c", _CHILD, "console", *arguments]
        begun.append(subprocess.Popen(command, cwd=place.root, text=True, stdout=-1, stderr=-1))
        return begun[-1]

    yield started
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()


def url_of(process: "subprocess.Popen[str]") -> str:
    """The address that the console says; it takes requests from then on."""
    assert process.stdout
    line = process.stdout.readline()
    found = re.search(r"(http://127\.0\.0\.1:(\d+)/|unix:\S+)", line)
    assert found, line + (process.stderr.read() if process.stderr else "")
    return found[1]


def ended(process: "subprocess.Popen[str]", number: int = signal.SIGTERM) -> tuple[int, str]:
    """End it by a signal: its exit code, and what it said on stderr."""
    process.send_signal(number)
    _, told = process.communicate(timeout=600)
    return process.returncode, told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_a_signal_and_loads_nothing_that_computes(start: Start, place: Place, number: int) -> None:
    token = People(place.root / "keys").invite("Anna", tuple(Role))
    process = start("--port", "0")
    port = int(url_of(process).rsplit(":", 1)[1].strip("/"))
    browser = Browser(port)
    assert browser.post(f"/join/{token}", {"passphrase": PASSPHRASE, "again": PASSPHRASE}).status == 303
    for path in ("/", "/queue", "/runs", "/models", "/log", "/log/entries?first=0", "/live.json"):
        assert browser.get(path).status == 200
    code, told = ended(process, number)
    assert code == 0, told
    assert told.strip() == "loaded"


def test_it_starts_within_two_seconds(start: Start) -> None:
    """Of computing, whatever else the machine does: the better of two starts, of which the first compiles bytecode."""
    times = []
    for _ in range(2):
        before = computed_by_children()
        process = start("--port", "0")
        url_of(process)
        ended(process)
        times.append(computed_by_children() - before)
    assert min(times) < 2, times


def computed_by_children() -> float:
    """Seconds that ended children of this process have computed for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_its_address_as_json(start: Start) -> None:
    process = start("--port", "0", "--json")
    assert process.stdout
    told = ""
    while not told.endswith("}\n") and (line := process.stdout.readline()):
        told += line
    assert json.loads(told)["url"].startswith("http://127.0.0.1:")


def test_a_port_in_use_is_one_sentence(place: Place, cloister: Cloister) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = cloister("console", "--port", str(port))
    assert done.code == 2
    assert f"port {port} of 127.0.0.1 cannot be had: Address already in use" in done.err
    assert "--port 0" in done.err


def test_it_is_on_loopback_alone(start: Start) -> None:
    port = int(url_of(start("--port", "0")).rsplit(":", 1)[1].strip("/"))
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    listening = [row.split()[1] for row in rows if row.split()[3] == "0A"]
    assert [each for each in listening if each.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


@pytest.mark.parametrize(("more", "mode"), [((), 0o600), (("--group",), 0o660)])
def test_a_socket_of_its_owner_or_group(start: Start, tmp_path: Path, more: tuple[str, ...], mode: int) -> None:
    path = tmp_path / "c.sock"
    process = start("--socket", str(path), *more)
    assert url_of(process) == f"unix:{path}"
    assert path.stat().st_mode & 0o777 == mode
    connection = UnixConnection(path)
    connection.request("GET", "/")
    assert connection.getresponse().status == 401
    connection.close()
    assert ended(process)[0] == 0
    assert not path.exists()


def test_a_socket_that_was_left_is_replaced_and_nothing_else_is(start: Start, place: Place, cloister: Cloister) -> None:
    path = place.root / "c.sock"
    process = start("--socket", str(path))
    url_of(process)
    other = cloister("console", "--socket", path)
    assert (other.code, "another process listens there" in other.err) == (2, True)
    process.kill()
    process.wait()
    assert path.exists()
    assert url_of(start("--socket", str(path))) == f"unix:{path}"
    file = place.root / "site.yaml"
    refused = cloister("console", "--socket", file)
    assert (refused.code, "is no socket" in refused.err) == (2, True)
    assert file.stat().st_size > 0


def test_what_was_started_from_it_ends_with_it(start: Start, ready: Place) -> None:
    token = People(ready.root / "keys").invite("Anna", tuple(Role))
    process = start("--port", "0")
    browser = Browser(int(url_of(process).rsplit(":", 1)[1].strip("/")))
    assert browser.post(f"/join/{token}", {"passphrase": PASSPHRASE, "again": PASSPHRASE}).status == 303
    assert browser.act("/", "/log/verify").status == 303
    assert ended(process)[0] == 0
    children = Path(f"/proc/{process.pid}/task")
    assert not children.exists()
    assert [entry["command"] for entry in entries(ready, "console.started")] == ["cloister audit verify"]
