"""The bundle of this repository, with the wheels of its lock: how large it is, and that it is always the same.

    python -m tests.bundle.real [--wheels FOLDER]

pip brings the wheels, from where its configuration says, unless a folder has them. Two bundles are made, one of a
folder and one of what pip brings (with --wheels: of another folder), under another mask and time zone, and compared.
verify.py and the rules of CycloneDX check the first. Then one dependency is another one (cryptography, of 4.5 MiB), and
the update carries what changed. A line for each figure, and one for each thing that does not hold; exit 1 if there is
one.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from jobs.bundle.create.compose import Wanted, create, fetch
from jobs.bundle.create.wheels import environment, needed_by, read_lock
from jobs.bundle.publish import MIB, Key, difference, open_key
from jobs.bundle.reader import BundleFile, read_bundle
from tests.bundle.cyclonedx import mistakes
from tests.bundle.tiny import digest, write_key
from tests.pages import ROOT, tracked

MOST = 250_000_000  # bytes of a bundle without models
SHARE = 0.10  # of a bundle, that an update may carry
CHANGED = "cryptography"
ANY_DAY = "2000-01-01"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def faults(root: Path, given: Path | None) -> Iterator[str]:
    """Make it all below `root`. Yields what does not hold."""
    key_file, public = write_key(root / "keys")
    key, source = open_key(key_file, None), copied(root / "source")
    wheels = given or brought(root / "wheels", source)
    first, seconds = made(source, root / "first", wheels, key)
    print(f"created in {seconds:.1f} s from a folder: {first.stat().st_size / MIB:,.1f} MiB")
    if first.stat().st_size >= MOST:
        yield f"{first.stat().st_size:,} bytes, expected less than {MOST:,}"
    os.umask(0o077)
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()
    elsewhere = None if given is None else Path(shutil.copytree(given, root / "elsewhere"))
    second, seconds = made(copied(root / "again"), root / "second", elsewhere, key)
    print(f"created in {seconds:.1f} s {'from another folder' if given else 'with what pip brings'}")
    if digest(first) != digest(second):
        yield f"{first} and {second} differ"
    yield from checked(first, public)
    newer = changed(root / "newer", source, wheels)
    third, _ = made(newer, root / "third", newer / "wheels", key)
    update = difference(first, third, root / "update", key, ANY_DAY, lambda done, total, at: None).published
    print(f"an update of {CHANGED} carries {100 * update.size / third.stat().st_size:.2f} %")
    if update.size >= SHARE * third.stat().st_size:
        yield f"{update.size:,} bytes of {third.stat().st_size:,} are carried"
    print(f"wheels whose change alone takes more: {', '.join(heavy(read_bundle(third, public, ANY_DAY).files))}")


def copied(folder: Path) -> Path:
    """The files of this repository, without what they were before."""
    for name in sorted(name for name in tracked() if (ROOT / name).is_file()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def brought(folder: Path, source: Path) -> Path:
    """A folder with the wheels of the lock."""
    folder.mkdir()
    lock = source / "requirements.lock"
    pinned = [*needed_by(read_lock(lock), environment(PYTHON), lock).values(), *read_lock(source / "pip.lock")]
    fetch(pinned, PYTHON, folder, lambda name: None)
    return folder


def made(source: Path, out: Path, wheels: Path | None, key: Key) -> tuple[Path, float]:
    """A bundle, and how long it took."""
    before = time.monotonic()
    done = create(Wanted(source, out, (PYTHON,), wheels, (), None), key, lambda done, total, at: None)
    return done.published.archive, time.monotonic() - before


def checked(bundle: Path, public: str) -> Iterator[str]:
    """What verify.py and the rules of CycloneDX find in it."""
    command = [sys.executable, "-I", str(bundle.with_name("verify.py")), str(bundle), "--key", public]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        yield f"verify.py: {done.stdout}{done.stderr}"
    found = read_bundle(bundle, public, ANY_DAY)
    file = next(file for file in found.files if file.role == "sbom")
    assert file.at is not None
    with bundle.open("rb") as stream:
        stream.seek(file.at)
        yield from mistakes(json.loads(stream.read(file.size)))
    print(f"{len(found.files)} files, glibc {found.told['platform']['glibc']}, Python {PYTHON}")


def changed(folder: Path, source: Path, wheels: Path) -> Path:
    """The same source and wheels, but for one wheel of other bytes, which the lock pins."""
    shutil.copytree(source, folder)
    shutil.copytree(wheels, folder / "wheels")
    names = (folder / "wheels").glob(f"{CHANGED}-*.whl")
    lock = (folder / "requirements.lock").read_text()
    wheel = next(path for path in names if digest(path) in lock)
    before = digest(wheel)
    wheel.chmod(0o600)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(zipfile.ZipInfo(f"{CHANGED}/changed.txt"), "changed")
    (folder / "requirements.lock").write_text(lock.replace(before, digest(wheel)))
    return folder


def heavy(files: list[BundleFile]) -> list[str]:
    """The wheels that are more than that share of a bundle."""
    most = SHARE * sum(file.size for file in files)
    wheels = (file for file in files if file.role == "wheel" and file.size >= most)
    return [f"{file.facts['name']} ({file.size / MIB:.0f} MiB)" for file in wheels]


def main() -> int:
    """The program; it returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cloister-bundle-") as place:
        found = list(faults(Path(place), options.wheels))
    for fault in found:
        print(f"WRONG: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
