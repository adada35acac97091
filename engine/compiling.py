"""Tell numba, before it is imported, for which CPU to compile and where to keep what it compiled.

The LLVM CPU is fixed by our instruction set, forced or not, so that what is tested is what ships. numba's cache does
not notice a change in another file: so its folder is named by a digest of all of our code and of what compiles it.
"""

import hashlib
import os
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from engine.cpu import isa

LLVM_CPUS = {"avx512_vnni": "cascadelake", "avx2": "haswell", "portable": "x86-64-v2"}


def set_up() -> Path | None:
    """Set numba's environment; the cache folder, or None when it cannot be written.

    Raises RuntimeError if numba was imported before and set up otherwise.
    """
    settings = {"NUMBA_CPU_NAME": LLVM_CPUS[isa()], "NUMBA_CPU_FEATURES": ""}
    folder = _cache_folder()
    if "numba" in sys.modules and any(os.environ.get(name) != value for name, value in settings.items()):
        raise RuntimeError("numba was imported before engine: import engine first, it decides for which CPU to compile")
    os.environ.update(settings)
    if folder is not None:
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
    return folder


def is_compiled(folder: Path | None) -> bool:
    """Whether kernels of this digest lie in the cache already."""
    return folder is not None and any(folder.rglob("*.nbc"))


def _cache_folder() -> Path | None:
    base = (
        os.environ.get("CLOISTER_CACHE")
        or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cloister"
    )
    folder = Path(base) / f"kernels-{_digest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        return None


def _base() -> Path:
    if chosen := os.environ.get("CLOISTER_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cloister"


def _digest() -> str:
    root = Path(__file__).parent
    digest = hashlib.sha256(
        f"{sys.version}|{metadata.version('numba')}|{metadata.version('llvmlite')}|{isa()}".encode()
    )
    for path in sorted(root.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


FOLDER = set_up()
"""The cache folder of this process, None when compiled kernels cannot be kept."""
