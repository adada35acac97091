"""`bundle create`: everything that a bundle carries is gathered from a source and its wheels, and signed."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.bundle.create.licences import check_licences, licence_texts, overview
from jobs.bundle.create.pages import make_examples, make_pages
from jobs.bundle.create.sbom import Model, Part, builtin_heads, make_sbom, read_models
from jobs.bundle.create.source import EXTRA, PIP_LOCK, Source, open_source
from jobs.bundle.create.wheels import (
    Folder,
    Pinned,
    Wheel,
    choose_all,
    closure,
    environment,
    format_glibc,
    needed_by,
    parse_wheel_name,
    platforms,
    read_lock,
)
from jobs.bundle.manifest import PRODUCT, Content, Manifest, Progress
from jobs.bundle.publish import Key, Published, check_new, make_folder, publish
from jobs.bundle.reader import digest_of
from jobs.config.load import shown
from jobs.errors import ConfigError, Problem

_BUILDER: Final = "setuptools"
_PIP: Final = "pip"
_PIP_OPTIONS: Final = (
    *("--only-binary", ":all:", "--require-hashes", "--no-deps", "--disable-pip-version-check"),
    *("--progress-bar", "off"),
)
_ABOUT: Final = re.compile(r"(?:Collecting |Processing .*/)([A-Za-z0-9._]+)")
_NONE: Final = re.compile(r"No matching distribution found for ([^\s(]+)")
_OFFLINE: Final = "after connection broken by"  # how pip says that it tries again
_LINES = 400  # of what pip said
_EPOCH: Final = "315532800"  # 1980-01-01, before which a zip file knows no time
_FIRST: Final = (1980, 1, 1, 0, 0, 0)
_BUILD: Final = """\
import os, sys
os.umask(0o022)
sys.path.insert(0, sys.argv[1])
from setuptools import build_meta
build_meta.build_wheel(sys.argv[2])
"""


@dataclass(frozen=True)
class Wanted:
    """What a bundle is to be: `pythons` as 3.11, in their order; `wheels` is a folder of them, None for a registry;
    `extra` is one of ON_REQUEST."""

    source: Path
    out: Path
    pythons: tuple[str, ...]
    wheels: Path | None
    models: tuple[Path, ...]
    expires: str | None
    extra: str | None = None

    @property
    def extras(self) -> frozenset[str]:
        """The extras of Cloister whose packages it carries."""
        return frozenset({EXTRA} if self.extra is None else {EXTRA, self.extra})


@dataclass(frozen=True)
class Created:
    """A bundle that was made: its files as they were published, and its wheels with the Pythons that need them."""

    published: Published
    parts: tuple[Part, ...]


def create(wanted: Wanted, key: Key, progress: Progress) -> Created:
    """Make a bundle. ConfigError for anything that is missing or refused: then nothing was made."""
    source = open_source(wanted.source)
    lock = source.lock(wanted.extra)
    locked = _locked(source, lock, wanted.pythons)
    models, carried = read_models(wanted.models)
    make_folder(wanted.out)
    check_new(wanted.out / Manifest(source.version, wanted.pythons, None, None, ()).name)
    with tempfile.TemporaryDirectory(dir=wanted.out, prefix=".cloister-bundle-") as place:
        folder = _wheels(wanted, locked, Path(place), progress)
        chosen = {python: choose_all(folder, pinned, python) for python, pinned in locked.items()}
        own = build_wheel(source, chosen[wanted.pythons[0]][_BUILDER], Path(place, "own"))
        parts, pip = _parts(own, chosen, wanted.extras, lock.name)
        contents = [*carried, *_contents(source, parts, pip, [*models, *builtin_heads(source)])]
        contents += [_lock(parts, python) for python in wanted.pythons]
        needed = max((part.wheel.name.glibc for part in parts if part.wheel.name.glibc), default=None)
        glibc = None if needed is None else format_glibc(needed)
        sources = {content.path: content.source for content in contents}
        files = tuple(content.to_file() for content in contents)
        manifest = Manifest(source.version, wanted.pythons, glibc, wanted.expires, files)
        published = publish(wanted.out, manifest, key, lambda file: _read(sources[file.path]), progress)
    return Created(published, tuple(parts))


def _read(source: bytes | Path) -> Iterable[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    with source.open("rb") as stream:
        while block := stream.read(1 << 20):
            yield block


def _locked(source: Source, lock: Path, pythons: Sequence[str]) -> dict[str, dict[str, Pinned]]:
    """The requirements of each Python by name, pip and what builds Cloister among them."""
    found = dict[str, dict[str, Pinned]]()
    own, pip = read_lock(lock), read_lock(source.folder / PIP_LOCK)
    if [one.name for one in pip] != [_PIP]:
        raise ConfigError(Problem(shown(source.folder / PIP_LOCK), "pins other packages than pip", "pip alone"))
    for python in pythons:
        found[python] = needed_by(own, environment(python), lock) | {_PIP: pip[0]}
        if _BUILDER not in found[python]:
            raise ConfigError(Problem(shown(lock), f"has no {_BUILDER}, which builds the wheel", None, "make lock"))
    return found


def _wheels(wanted: Wanted, locked: Mapping[str, Mapping[str, Pinned]], place: Path, progress: Progress) -> Folder:
    """The folder that was given, or one that pip fills."""
    if wanted.wheels is not None:
        return Folder(wanted.wheels)
    (place / "wheels").mkdir()
    total, done = sum(map(len, locked.values())), 0

    def tell(name: str) -> None:
        nonlocal done
        done += 1
        progress(min(done, total), total, f"bringing {name}")

    for python, pinned in locked.items():
        fetch(pinned.values(), python, place / "wheels", tell)
    return Folder(place / "wheels")


def _parts(
    own: Wheel, chosen: Mapping[str, dict[str, Wheel]], extras: frozenset[str], lock: str
) -> tuple[list[Part], Part]:
    """The wheels that Cloister needs with these extras, its own among them, and that of pip. ConfigError if the lock
    lacks one, or one has a licence that is not known to be permissive."""
    graphs = {}
    for python, wheels in chosen.items():
        wheels[PRODUCT] = own
        graphs[python] = closure(wheels, [(PRODUCT, extras)], python, lock)
    pip = next(iter(chosen.values()))[_PIP]
    if any(wheels[_PIP] != pip for wheels in chosen.values()):
        raise ConfigError(Problem(PIP_LOCK, "has another pip for each Python", "one wheel for all of them"))
    parts = _placed(chosen, graphs)
    check_licences([*(part.wheel for part in parts), pip])
    return parts, Part(pip, f"pip/{pip.name.lowest}", tuple(chosen), {})


def _placed(chosen: Mapping[str, Mapping[str, Wheel]], graphs: Mapping[str, Mapping[str, set[str]]]) -> list[Part]:
    """Each wheel once, in the folder of its Python, or in one for all if several take it."""
    users = dict[str, list[str]]()
    wheels = dict[str, Wheel]()
    for python, graph in graphs.items():
        for name in graph:
            wheel = chosen[python][name]
            wheels[wheel.sha256] = wheel
            users.setdefault(wheel.sha256, []).append(python)
    parts = []
    for digest, wheel in wheels.items():
        pythons = tuple(users[digest])
        folder = "any" if len(pythons) > 1 else f"cp{pythons[0].replace('.', '')}"
        needs = {python: frozenset(graphs[python][wheel.package]) for python in pythons}
        parts.append(Part(wheel, f"wheels/{folder}/{wheel.name.lowest}", pythons, needs))
    return sorted(parts, key=lambda part: part.path)


def _contents(source: Source, parts: list[Part], pip: Part, models: list[Model]) -> list[Content]:
    licensed, texts = licence_texts([*(part.wheel for part in parts), pip.wheel])
    told = [(model.name, model.licence) for model in sorted(models, key=lambda model: model.name)]
    return [
        *(Content(part.path, "wheel", part.wheel.path, _facts(part)) for part in parts),
        Content(pip.path, "pip", pip.wheel.path, {"name": _PIP, "version": pip.wheel.version}),
        *texts,
        overview(licensed, told),
        *make_pages(source),
        *make_examples(source),
        make_sbom(source.version, parts, pip, models),
    ]


def _facts(part: Part) -> dict[str, object]:
    wheel, glibc = part.wheel, part.wheel.name.glibc
    facts: dict[str, object] = {"name": wheel.package, "version": wheel.version, "pythons": list(part.pythons)}
    facts["glibc"] = None if glibc is None else format_glibc(glibc)
    return facts if wheel.name.file == wheel.name.lowest else facts | {"original": wheel.path.name}


def _lock(parts: Iterable[Part], python: str) -> Content:
    lines = sorted(
        f"{part.wheel.package}=={part.wheel.version} --hash=sha256:{part.wheel.sha256}\n"
        for part in parts
        if python in part.pythons
    )
    return Content(f"locks/requirements-cp{python.replace('.', '')}.txt", "lock", "".join(lines).encode())


def build_wheel(source: Source, setuptools: Wheel, folder: Path) -> Wheel:
    """Cloister's own wheel, made in a new folder, so that the same source gives the same bytes everywhere: by the
    setuptools of the lock, whatever is installed here, from a copy whose files all have one mode. ConfigError if it
    cannot be built."""
    tools, tree, built = folder / "tools", folder / "tree", folder / "built"
    built.mkdir(parents=True)
    with zipfile.ZipFile(setuptools.path) as file:
        file.extractall(tools)
    for name in source.files:
        if not name.startswith("tests/"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source.folder / name, tree / name)
            (tree / name).chmod(0o644)
    settings = {"PATH": os.environ.get("PATH", ""), "SOURCE_DATE_EPOCH": _EPOCH, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-I", "-S", "-c", _BUILD, str(tools.absolute()), str(built.absolute())]
    done = subprocess.run(command, cwd=tree, env=settings, capture_output=True, text=True, errors="replace")
    wheels = list(built.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        why = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise ConfigError(Problem(shown(source.folder), f"its wheel cannot be built: {why}"))
    made = parse_wheel_name(wheels[0].name)
    if made is None or (made.package, made.version, made.platforms) != (PRODUCT, source.version, ["any"]):
        raise ConfigError(Problem(shown(source.folder), f"its wheel is {wheels[0].name}", "one without machine code"))
    stored = folder / wheels[0].name
    _store(wheels[0], stored)
    return Wheel(stored, made, digest_of(stored))


def _store(wheel: Path, target: Path) -> None:
    """The same wheel with its files in order, of one time and mode, and stored without compression: what deflate makes
    differs from one zlib to the next. The folder of metadata comes last, as PEP 427 wishes."""
    with zipfile.ZipFile(wheel) as file, zipfile.ZipFile(target, "x", zipfile.ZIP_STORED) as stored:
        for name in sorted(file.namelist(), key=lambda name: (name.split("/", 1)[0].endswith(".dist-info"), name)):
            if not name.endswith("/"):
                member = zipfile.ZipInfo(name, _FIRST)
                member.create_system, member.external_attr = 3, 0o100644 << 16  # Unix, whatever this machine is
                stored.writestr(member, file.read(name))


def fetch(pinned: Iterable[Pinned], python: str, folder: Path, tell: Callable[[str], None]) -> None:
    """Put the wheels of all requirements for this Python into the folder. pip compares each with its sha256. `tell`
    hears the name of each package. ConfigError if one is missing, or the registry cannot be reached."""
    listed = folder / f"requirements-{python}.txt"
    listed.write_text("".join(f"{one.to_line()}\n" for one in pinned), encoding="utf-8")
    said: deque[str] = deque(maxlen=_LINES)
    target = ["--python-version", python, "--implementation", "cp", "--abi", f"cp{python.replace('.', '')}"]
    for platform in platforms():  # pip prefers the one that is named first, so that with the lowest glibc comes first
        target += ["--platform", platform]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        *_PIP_OPTIONS,
        "--dest",
        str(folder),
        *target,
        "-r",
        str(listed),
    ]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    with subprocess.Popen(command, **settings) as pip:  # type: ignore[call-overload]
        assert pip.stdout
        for line in pip.stdout:
            said.append(line.rstrip())
            if found := _ABOUT.match(line):
                tell(found[1])
    if pip.returncode:
        raise _refused(list(said), python)


def _refused(said: list[str], python: str) -> ConfigError:
    errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")]
    errors = errors or said[-1:] or ["it says nothing"]
    if any("No module named pip" in line for line in said):
        return ConfigError(Problem("pip", "is not installed beside this Python", None, "python -m ensurepip"))
    if any(_OFFLINE in line for line in said):
        what = f"the package registry cannot be reached: {errors[0]}"
        return ConfigError(Problem("pip", what, "a network, or a folder of wheels", "--wheels FOLDER needs no network"))
    if missing := [found[1] for line in errors if (found := _NONE.search(line))]:
        what = f"there is no wheel of {', '.join(missing)} for Python {python} on x86-64 Linux"
        return ConfigError(Problem("pip", what, None, "another --python, or another version in the lock"))
    return ConfigError(Problem("pip", f"could not bring the wheels for Python {python}: {errors[-1]}"))
