"""`bundle create`: everything that a bundle carries is gathered from a source and its wheels, and signed."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.bundle.archive import Progress
from jobs.bundle.create.examples import make_examples
from jobs.bundle.create.fetch import fetch
from jobs.bundle.create.licences import check_licences, licence_texts, overview
from jobs.bundle.create.locked import Pinned, needed_by, read_lock
from jobs.bundle.create.models import Model, builtin_heads, read_models
from jobs.bundle.create.own import build_wheel
from jobs.bundle.create.pages import make_pages
from jobs.bundle.create.sbom import Part, make_sbom
from jobs.bundle.create.source import EXTRA, PIP_LOCK, Source, open_source
from jobs.bundle.create.tags import WheelName, format_glibc, parse_wheel_name
from jobs.bundle.create.wheels import Folder, Wheel, choose_all, closure
from jobs.bundle.manifest import PRODUCT, Content, Manifest
from jobs.bundle.publish import Key, Published, check_new, make_folder, publish
from jobs.errors import ConfigError, Problem
from jobs.load import shown

_BUILDER: Final = "setuptools"
_PIP: Final = "pip"


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
        own = _own(source, chosen[wanted.pythons[0]][_BUILDER], Path(place))
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
        found[python] = needed_by(own, python, lock) | {_PIP: pip[0]}
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
    name = pip.name.lowest
    return parts, Part(pip, f"pip/{name}", tuple(chosen), {})


def _own(source: Source, builder: Wheel, place: Path) -> Wheel:
    """Cloister's wheel, built in a folder of its own."""
    (place / "own").mkdir()
    path = build_wheel(source, builder, place / "own")
    name = parse_wheel_name(path.name)
    assert name
    return Wheel(path, name, Content("own", "wheel", path).to_file().sha256)


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
    return facts if _same_name(wheel.name) else facts | {"original": wheel.path.name}


def _same_name(name: WheelName) -> bool:
    return name == name.lowest


def _lock(parts: Iterable[Part], python: str) -> Content:
    """The requirements of a Python, each with the sha256 of its one wheel."""
    lines = sorted(
        f"{part.wheel.package}=={part.wheel.version} --hash=sha256:{part.wheel.sha256}\n"
        for part in parts
        if python in part.pythons
    )
    return Content(f"locks/requirements-cp{python.replace('.', '')}.txt", "lock", "".join(lines).encode())
