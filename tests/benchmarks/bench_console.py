"""The console over a workspace of a million documents: its start, its memory, and its pages as a browser gets them.

    python -m tests.benchmarks.bench_console [--documents N] [--folder DIR]

The workspace is that of bench_queue. `cloister console` is started twice: without any index, where it shows pages while
it makes them, and again with them. For each start: seconds until it takes requests, seconds until the indexes are made,
and the largest memory of the process (VmHWM); then the best and worst of five requests of each page, in seconds over
HTTP, by somebody with all roles. Nothing lies in archive/, so the page of a document says that its original is gone.
"""

import argparse
import contextlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from jobs.console.access.people import People
from jobs.console.rights import Role
from tests.benchmarks.bench_queue import BAR_MIB, BAR_SECONDS, peak_mib, site_in, timed, write_documents
from tests.console.conftest import PASSPHRASE, Browser

PAGES = {
    "tonight": "/",
    "queue, first page": "/queue",
    "queue, largest first": "/queue?sort=size",
    "queue, failed of one class": "/queue?state=failed&failure=encrypted",
    "queue, one label in one folder": "/queue?label=reminder&folder=mail/2507",
    "queue, one night": "/queue?night=2026-01-09",
    "queue, a text that a tenth has": "/queue?text=br%C3%BCckner",
    "queue, a text that none has": "/queue?text=zzzz",
    "runs": "/runs",
    "models": "/models",
    "log": "/log",
    "entries of the log": "/log/entries?first=700000",
    "live counts": "/live.json",
}


@contextlib.contextmanager
def console(root: Path) -> Iterator[tuple[int, int, float]]:
    """A console that serves: its process, its port, and how many seconds it took to take requests."""
    started = [sys.executable, "-c", "from jobs.cli import main; main()", "console", "--port", "0"]
    begun = time.perf_counter()
    with subprocess.Popen([*started, "--workspace", str(root)], text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
            assert found, "the console says its address first"
            yield process.pid, int(found[1]), time.perf_counter() - begun
        finally:
            process.send_signal(signal.SIGTERM)


def documents_of(browser: Browser) -> dict[str, str]:
    """The pages of some documents, from the first page of a list."""
    numbers = re.findall(r'href="/documents/(\d+)', browser.get("/queue?sort=size").text)
    return {f"document {number}": f"/documents/{number}" for number in dict.fromkeys(numbers[:3])}


def is_made(browser: Browser) -> bool:
    """Whether the first page speaks of no index that is being made."""
    return "index of the log is being made" not in browser.get("/").text


def measure(root: Path, title: str) -> None:
    """Start the console, wait until its indexes are made, ask for each page, and print a table."""
    people = People(root / "keys")
    name = f"Bench {len(people.all())}"
    token = people.invite(name, tuple(Role))
    with console(root) as (pid, port, seconds):
        browser = Browser(port)
        assert browser.post(f"/join/{token}", {"passphrase": PASSPHRASE, "again": PASSPHRASE}).status == 303
        begun, slowest = time.perf_counter(), 0.0
        while not is_made(browser):
            slowest = max(slowest, timed(lambda: browser.get("/queue")))
            time.sleep(0.5)
        made = time.perf_counter() - begun
        print(f"\n{title}: takes requests after {seconds:.2f} s; indexes made after {made:.0f} s more,", end=" ")
        print(f"the slowest page of the queue meanwhile {slowest:.2f} s; {peak_mib(pid):.0f} MiB so far\n")
        print(f"| page | best | worst of 5 | bar {BAR_SECONDS} s |\n|---|---|---|---|")
        for what, path in {**PAGES, **documents_of(browser)}.items():
            assert browser.get(path).status == 200, path
            took = [timed(lambda path=path: browser.get(path)) for _ in range(5)]  # type: ignore[misc]
            print(f"| {what} | {min(took):.3f} s | {max(took):.3f} s | {'' if max(took) < BAR_SECONDS else 'missed'} |")
        print(f"| memory | | {peak_mib(pid):.0f} MiB | {BAR_MIB:.0f} MiB |")


def main() -> None:
    """The command."""
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("--documents", type=int, default=1_000_000)
    told.add_argument("--folder", type=Path)
    asked = told.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = asked.folder or Path(folder) / "ws"
        site = site_in(root)
        if not (root / "made").exists():
            write_documents(root, site, 0, asked.documents)
            (root / "made").write_text(str(asked.documents))
        for file in [*(root / "state").glob("index.sqlite*")]:
            file.unlink()
        measure(root, "without indexes")
        measure(root, "with indexes")


if __name__ == "__main__":
    main()
