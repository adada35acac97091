"""Tell numba, before it is imported, for which CPU to compile and where to keep what it compiled.

The LLVM CPU is fixed by our instruction set, forced or not, so that what is tested is what ships. numba's cache does
not notice a change in another file: so its folder is named by a digest of all that kernels are made of (ROOMS) and of
what compiles it.

Processes may compile at the same time, as long as each function that is kept is called with arguments of one type: all
of them then write the same file, whole. For a second type numba takes a number that another process may take as well.
"""

import atexit
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from engine.cpu import compiled_isa

ROOMS = ("simd", "tiles", "kernels", "models")
"""The folders of all code that a kernel may be made of."""
LLVM_CPUS = {
    "amx": ("cascadelake", "+amx-tile,+amx-int8,+avx512vbmi"),
    "avx512_vnni": ("cascadelake", ""),
    "avx2": ("haswell", ""),
    "portable": ("x86-64-v2", ""),
}
"""Instruction set -> the CPU that LLVM compiles for, and what is added to it."""


DECODER = "decoder"
"""What `note_whole` calls the kernels of all decoders."""


def set_up() -> tuple[Path, bool]:
    """Set numba's environment; the cache folder, and whether it will be there for the next process.

    Raises RuntimeError if numba was imported before and set up otherwise.
    """
    cpu, features = LLVM_CPUS[compiled_isa()]
    settings = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features}
    if "numba" in sys.modules and any(os.environ.get(name) != value for name, value in settings.items()):
        raise RuntimeError("numba was imported before engine: import engine first, it decides for which CPU to compile")
    folder = _lasting_folder()
    cache = folder or Path(tempfile.mkdtemp(prefix="cloister-kernels-"))
    if folder is None:
        atexit.register(shutil.rmtree, cache, ignore_errors=True)
    os.environ.update(settings | {"NUMBA_CACHE_DIR": str(cache)})
    return cache, folder is not None


def is_compiled(module: str, function: str = "encode") -> bool:
    """Whether the forward pass of this module of engine.models lies in the cache already."""
    return any(FOLDER.rglob(f"{module}.{function}-*.nbc"))


def is_whole(what: str) -> bool:
    """Whether all that is compiled for this lies in the cache, by what `note_whole` left there."""
    return (FOLDER / f"{what}.whole").exists()


def note_whole(what: str) -> None:
    """All that is compiled for this lies in the cache."""
    with contextlib.suppress(OSError):
        (FOLDER / f"{what}.whole").touch()


def weights_folder() -> Path | None:
    """Where weights are kept in their execution layout; None where nothing can be written."""
    try:
        folder = _base() / "weights"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):
        return None
    return folder


def _lasting_folder() -> Path | None:
    """The folder for this code on this machine; None where it cannot be written."""
    try:
        folder = _base() / f"kernels-{_digest()}"
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
    compilers = (sys.version, metadata.version("numba"), metadata.version("llvmlite"), compiled_isa())
    made_for = (*compilers, *LLVM_CPUS[compiled_isa()])
    return hashlib.sha256("|".join((kernel_digest(_PACKAGE), *made_for)).encode()).hexdigest()[:24]


def code_digest(*folders: Path) -> str:
    """The first 24 hexadecimal digits of the sha256 of every source file below `folders`."""
    return _digest_of(path for folder in folders for path in sorted(folder.rglob("*.py")))


def kernel_digest(package: Path) -> str:
    """The digest of all that kernels are made of, in this folder of the engine."""
    return code_digest(*(package / room for room in ROOMS))


def stamp(file: Path) -> str:
    """What a function of this file is compiled from: ROOMS, and outside of them also what lies beside the file."""
    outside = not any(file.is_relative_to(_PACKAGE / room) for room in ROOMS)
    beside = sorted(file.parent.glob("*.py")) if file.is_relative_to(_PACKAGE) else [file]
    return f"{FOLDER.name}{_digest_of(beside) if outside else ''}"


def _digest_of(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


_PACKAGE = Path(__file__).parent
CODE = code_digest(_PACKAGE)
"""Names what only this code made, and only this code may use."""
FOLDER, LASTING = set_up()
