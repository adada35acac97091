"""Memory that a console takes from people who are not signed in.

    python -m tests.console.flood [REQUESTS]

A console of an empty workspace, as a process of its own, gets so many hostile requests (100,000) over eight connections
at a time: names of every length, addresses of thousands of digits, made-up cookies, invites and places, other hosts and
origins, forms that are none. Printed: the memory that it takes (VmRSS) before and after, and its crash files.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

_CLOISTER = [sys.executable, "-P", "-c", "import jobs.cli; jobs.cli.main()"]
_OWN = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
_NAMES = 200  # that are tried, each until it has to wait: each trial costs the console a tenth of a second
_WARM = 500

Request = tuple[str, str, str | None, dict[str, str]]


def hostile(number: int) -> Request:
    """The request of a number: no two are the same."""
    digits, long = str(number) * 1000, f"{number:06}" + "n" * (number % 60_000)
    sign_in = urlencode({"name": f"Somebody {number % _NAMES}", "passphrase": f"no passphrase {number}"})
    odd = urlencode({"name": long, "passphrase": "x" * 300, "next": f"/{number}"})
    forms = odd, sign_in, "a&b", f"%ff{number}"
    kinds: tuple[Request, ...] = (
        ("POST", "/sign-in", forms[0], _OWN),
        ("POST", "/sign-in", forms[1], _OWN),
        ("POST", "/sign-in", forms[2 + number % 2], _OWN),
        ("GET", f"/documents/{digits[:5000]}", None, {}),
        ("GET", f"/documents/{digits[:5000]}/pages/{digits[:5000]}.png", None, {}),
        ("GET", f"/works/{number}?x={number}", None, {"Cookie": f"cloister_session={number:043}"}),
        ("GET", f"/queue?sort=path&after=[1e999,{number}]", None, {}),
        ("GET", f"/join/{number:043}", None, {}),
        ("POST", f"/join/{number:043}", urlencode({"passphrase": long[:200], "again": long[:200]}), _OWN),
        ("GET", "/", None, {"Host": f"h{number}.example"}),
        ("POST", "/log/verify", f"token={number:032x}.{number:064x}", {**_OWN, "Sec-Fetch-Site": "cross-site"}),
        ("GET", f"/sign-in?next=/{number}", None, {"Cookie": f"cloister_known={number:032x}.{number:064x}"}),
        ("GET", f"/static/{number}.css", None, {}),
    )
    return kinds[number % len(kinds)]


def send(port: int, numbers: Iterator[int], last: int, statuses: dict[int, int]) -> None:
    """Send the requests of these numbers, one connection for all where the console keeps it."""
    connection = HTTPConnection("127.0.0.1", port, timeout=1200)
    while (number := next(numbers)) < last:
        method, path, body, headers = hostile(number)
        try:
            connection.request(method, path, body, {"Host": f"127.0.0.1:{port}", **headers})
            answer = connection.getresponse()
            answer.read()
            statuses[answer.status] = statuses.get(answer.status, 0) + 1
        except (OSError, HTTPException):
            connection.close()
    connection.close()


def flood(port: int, first: int, last: int) -> dict[int, int]:
    """Send the requests from one number to before another; how often each status came."""
    numbers, statuses = count(first), dict[int, int]()
    threads = [threading.Thread(target=send, args=(port, numbers, last, statuses)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses


def memory(pid: int) -> int:
    """The bytes of memory that a process has (VmRSS of proc(5))."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024


def measure(requests: int) -> tuple[int, int, dict[int, int], int]:
    """Memory before and after so many requests, how often each status came, and the number of crash files."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "ws"
        subprocess.run(
            [*_CLOISTER, "init", root, "--origin", "test.example/log"], check=True, stdout=subprocess.DEVNULL
        )
        command = [*_CLOISTER, "console", "--port", "0", "--workspace", str(root)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=os.environ | {"COLUMNS": "200"}
        ) as console:
            assert console.stdout
            found = re.search(r"127\.0\.0\.1:(\d+)", console.stdout.readline())
            assert found
            try:
                flood(port := int(found[1]), 0, _WARM)  # every module is loaded, and every template compiled
                before = memory(console.pid)
                statuses = flood(port, _WARM, _WARM + requests)
                crashes = len(list((root / "state").glob("crashes/*")))
                return before, memory(console.pid), statuses, crashes
            finally:
                console.terminate()


def main() -> None:
    """Measure and print."""
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("requests", nargs="?", type=int, default=100_000)
    requests, began = told.parse_args().requests, time.monotonic()
    before, after, statuses, crashes = measure(requests)
    mebibytes = [f"{number / 2**20:.1f} MiB" for number in (before, after, after - before)]
    print(f"{requests:,} requests in {time.monotonic() - began:.0f} s: {statuses}, {crashes} crash files")
    print(f"memory {mebibytes[0]} before, {mebibytes[1]} after: {mebibytes[2]} more")


if __name__ == "__main__":
    main()
