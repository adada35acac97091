"""The whole suite, or what is named of it, where no call may lead out: under the tracer and without a route.

    python -m tests.security.silent [ARGUMENT of pytest]...

It prints each call that led out of the machine or asked for a name, and by which program. Chromium, through which tests
look at the console, is told apart: it is no part of Cloister, and asks for its maker's servers by itself. Exit 0
if the suite passed and no other program's call led out.
"""

import subprocess
import sys
import time

from jobs.trust.isolated import NOT_ALLOWED
from jobs.trust.tracer import NoTracerError, trace

BROWSER = ("chrome", "chromium", "headless_shell", "chrome-headless", "chrome_crashpad")
"""The names of the browser's programs, as the kernel cuts them to 15 characters."""
ISOLATED = (sys.executable, "-m", "jobs.trust.isolated")


def main(arguments: list[str]) -> int:
    """Run pytest with these arguments, and tell what led out; the exit code."""
    isolated = subprocess.run([*ISOLATED, "true"], check=False).returncode != NOT_ALLOWED
    command = [sys.executable, "-m", "pytest", *arguments]
    begun = time.monotonic()
    try:
        found = trace([*ISOLATED, *command] if isolated else command)
    except NoTracerError as error:
        print(f"not proved: {error}", file=sys.stderr)
        return 2
    seconds = time.monotonic() - begun
    outside = found.outside(but=BROWSER)
    browser = sum(count for _, count in found.outside()) - sum(count for _, count in outside)
    for seen, count in outside:
        print(f"{count:,} times {seen.call} to {seen.address} ({seen.where}), by {seen.program} (process {seen.pid})")
    loopback = sum(found.seen.values()) - browser - sum(count for _, count in outside)
    print(
        f"{'without a route' if isolated else 'with the routes of this machine'}, {seconds:,.0f} s: "
        f"{found.looked:,} calls looked at, {found.sockets:,} internet sockets, {loopback:,} calls to loopback, "
        f"{found.rings:,} rings refused, {sum(count for _, count in outside):,} calls led out, "
        f"and {browser:,} of the browser"
    )
    return found.code or (1 if outside else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
