"""Installs, updates and rollbacks that are killed: afterwards an installed version runs, always.

    python -m tests.bundle.kills --number 500

prints how many kills there were of what, and a line for each thing that does not hold; exit 1 if there is one. The same
--seed draws the same actions and moments. A kill comes at a random moment, of the program alone (so that its pip goes
on) or of all its processes, or right before one of the calls by which the program changes files. After each kill the
command of the installation has to run; now and then an action comes to its end, and has to do what it says.
"""

import argparse
import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from jobs.bundle.versions import CURRENT, FLIP, LOCK, PREVIOUS, VERSIONS, complete_versions, version_of
from tests.bundle.disk import BUNDLES, Disk, make_disk, runs

SEED = 20261127
HELD = 2  # the exit code of an action that found another one's pip at work
# kills the whole group before the call with this number that changes files, and counts them where there are fewer
LAUNCHER = """\
import os, runpy, signal, sys
last, made = int(sys.argv[1]), 0
names = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.chmod", "subprocess.Popen"}
def hook(event, arguments):
    global made
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if event in names or writes:
        made += 1
        if made == last:
            os.killpg(0, signal.SIGKILL)
sys.addaudithook(hook)
sys.argv[:] = sys.argv[2:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    print("calls", made)
"""


@dataclass
class Kills:
    """An installation that is changed and killed again and again. `longest` is how many seconds an action took, and
    `calls` how many of its calls changed files, when nobody killed it."""

    disk: Disk
    root: Path
    rng: random.Random
    longest: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    killed: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def command(self, action: str, last: int | None = None) -> list[str]:
        """The command of an action: `rollback`, or to install one of BUNDLES. `last`: which call it does not make."""
        words = ["--rollback"] if action == "rollback" else [str(self.disk.bundle(action))]
        launcher = [] if last is None else ["-c", LAUNCHER, str(last)]
        words += ["--older", "--prefix", str(self.root), "--key", self.disk.public_key]
        return [sys.executable, "-I", *launcher, str(self.disk.folder / "install.py"), *words]

    def to_the_end(self, action: str) -> None:
        """An action that nobody kills does what it says, and leaves nothing behind."""
        before, pending = version_of(self.root, CURRENT), (self.root / FLIP).exists()
        start = time.monotonic()
        done = subprocess.run(self.command(action, 0), capture_output=True, text=True)
        self.longest[action] = max(self.longest.get(action, 0), time.monotonic() - start)
        self.calls[action] = int(done.stdout.split()[-1])
        expected = BUNDLES[action].id() if action in BUNDLES else None
        after = version_of(self.root, CURRENT)
        self.demand(done.returncode == 0, f"{action} ends with {done.returncode}: {done.stdout}{done.stderr}")
        right = after == expected if expected else after != before or pending  # it goes forth first, and then back
        self.demand(right, f"{action}: {after} is current")
        folders = sorted(path.name for path in (self.root / VERSIONS).iterdir())
        self.demand(folders == complete_versions(self.root), f"{action}: {folders} are left")
        self.check(action)

    def kill(self, action: str) -> None:
        """Start an action, kill it somewhere, and look whether a version runs. Nothing is counted that ended before."""
        way = self.rng.choice(("moment", "alone", "call", "call"))
        last = self.rng.randint(1, self.calls[action]) if way == "call" else None
        process = subprocess.Popen(
            self.command(action, last), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        if last is None:
            try:
                process.wait(self.rng.uniform(0, self.longest[action]))
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL) if way == "alone" else os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        self.check(f"{action}, killed by {way}")
        with (self.root / LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a pip whose parent was killed ends, too
        assert process.stdout
        told = process.stdout.read().decode(errors="replace")
        process.stdout.close()
        self.demand(
            code in (0, HELD, -signal.SIGKILL) and "Traceback" not in told, f"{action} ends with {code}: {told}"
        )
        self.killed[f"{action}, {way}"] += code == -signal.SIGKILL

    def check(self, what: str) -> None:
        """The command runs, and is that of the current version, which is complete."""
        current = version_of(self.root, CURRENT)
        names = {small.id(): f"cloister {small.version} {small.part}" for small in BUNDLES.values()}
        try:
            told = runs(self.root)
        except (AssertionError, OSError) as error:
            told = f"nothing: {error}"
        right = current in complete_versions(self.root) and told == names.get(str(current))
        self.demand(right, f"{what}: {current} is current, and its command says {told}")

    def demand(self, right: bool, message: str) -> None:
        """Note what does not hold."""
        self.wrong += [] if right else [message]

    def draw(self) -> str:
        """What to do next. A version that is to be installed, and is not the current one, is forgotten before."""
        actions = [name for name, small in BUNDLES.items() if small.id() != version_of(self.root, CURRENT)]
        complete = complete_versions(self.root)
        if "update" in actions and BUNDLES["first"].id() not in complete:
            actions.remove("update")  # what it does not carry may be nowhere
        if version_of(self.root, PREVIOUS) in complete:
            actions.append("rollback")
        action = self.rng.choice(actions)
        if action in BUNDLES and self.rng.random() < 0.8:
            shutil.rmtree(self.root / VERSIONS / BUNDLES[action].id(), ignore_errors=True)
        return action


def begin(disk: Disk, root: Path, seed: int) -> Kills:
    """An installation in which each action came to its end once."""
    kills = Kills(disk, root, random.Random(seed))
    for action in ("first", "update", "other", "rollback"):
        kills.to_the_end(action)
    return kills


def torture(kills: Kills, number: int) -> None:
    """Kill so often, and let one action in twenty come to its end."""
    while (done := kills.killed.total()) < number and not kills.wrong:
        action = kills.draw()
        if kills.rng.random() < 0.05:
            kills.to_the_end(action)
        else:
            kills.kill(action)
        if kills.killed.total() > done and (done + 1) % 50 == 0:
            print(f"{done + 1} kills", file=sys.stderr, flush=True)


def main() -> int:
    """The program; 1 if something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=500)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cloister-kills-") as folder:
        kills = begin(make_disk(Path(folder) / "disk"), Path(folder) / "opt", options.seed)
        torture(kills, options.number)
    print(f"{kills.killed.total():,} kills, {len(kills.wrong)} wrong: {dict(sorted(kills.killed.items()))}")
    for line in kills.wrong:
        print(line)
    return bool(kills.wrong)


if __name__ == "__main__":
    sys.exit(main())
