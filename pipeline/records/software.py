"""The software that runs, as the log tells of it so that a row can be computed again by the same."""

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("audit", "engine", "jobs", "pipeline")


@cache
def software() -> dict[str, str]:
    """`version` of cloister, `source_sha256` of its code, Python, and `lock_sha256` of all installed packages."""
    return {
        "version": metadata.version("cloister"),
        "source_sha256": source_sha256(),
        "lock_sha256": lock_sha256(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def label(of: Mapping[str, str] | None = None) -> str:
    """The short form that stands in the result table; of this software if no other is given."""
    facts = of or software()
    return f"cloister {facts['version']} ({facts['source_sha256'][:12]})"


def source_sha256() -> str:
    """sha256 over the paths and bytes of all our Python files, in sorted order."""
    digest = hashlib.sha256()
    for path in sorted(path for package in _PACKAGES for path in (_ROOT / package).rglob("*.py")):
        body = path.read_bytes()
        digest.update(f"{path.relative_to(_ROOT)}\0{len(body)}\0".encode() + body)
    return digest.hexdigest()


def lock_sha256() -> str:
    """sha256 over the sorted lines name==version of every package in this environment: the lock as it is installed."""
    lines = {f"{d.name.lower()}=={d.version}" for d in metadata.distributions()}
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
