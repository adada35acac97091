"""The systemd units of Cloister that are installed on a machine, and those that came with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jobs

_FOLDERS = ("etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system")
"""Where systemd looks, first what wins (systemd.unit(5))."""
_SHIPPED = Path(jobs.__file__).parent.parent / "configs" / "systemd"


@dataclass(frozen=True)
class Unit:
    """A service unit: its file, and the values of each key, with those of its drop-ins."""

    path: Path
    settings: Mapping[str, Sequence[str]]

    def gives(self, credential: str) -> bool:
        """Whether it gives its service the credential of this name."""
        said = [each for key in ("LoadCredential", "LoadCredentialEncrypted") for each in self.settings.get(key, ())]
        return any(each.partition(":")[0] == credential for each in said)


def installed_units(root: Path) -> list[Unit]:
    """The services of Cloister on the machine whose files lie below `root`. OSError."""
    found: dict[str, Unit] = {}
    for folder in _FOLDERS:
        for path in sorted((root / folder).glob("cloister*.service")):
            if path.name not in found and path.is_file():
                found[path.name] = Unit(path, _settings([path, *_drop_ins(root, path.name)]))
    return list(found.values())


def shipped_unit(name: str) -> Unit | None:
    """The unit of that name that came with Cloister."""
    path = _SHIPPED / name
    return Unit(path, _settings([path])) if path.is_file() else None


def is_enabled(root: Path) -> bool:
    """Whether any unit of Cloister is started by another one, such as when the machine starts."""
    return any(next((root / folder).glob("*.wants/cloister*"), None) for folder in _FOLDERS)


def _drop_ins(root: Path, name: str) -> Iterator[Path]:
    for folder in reversed(_FOLDERS):
        yield from sorted((root / folder / f"{name}.d").glob("*.conf"))


def _settings(files: Sequence[Path]) -> dict[str, list[str]]:
    settings: dict[str, list[str]] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            key, equals, value = line.strip().partition("=")
            if equals and key.isalnum():
                settings.setdefault(key, []).append(value.strip())
    return settings
