"""Loads a model from its path. A thread hashes the file while all that computes is imported, which takes as long."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engine.cpu import isa, threads
from engine.errors import EngineError
from engine.gguf import hashed

if TYPE_CHECKING:
    from engine.engine import Model
    from engine.generate.model import LanguageModel

KINDS = ("float16", "int8")
"""What keys and values can be kept as."""

Progress = Callable[[str], None]


def load(path: str | os.PathLike[str], *, widen: bool = False, progress: Progress | None = None) -> "Model":
    """Read a GGUF file and make it ready. `widen`: weights that the file has in 16-bit floats are computed in float32
    as they are, and not as integers of 8 bits. `progress` gets a line now and then when kernels have to be compiled.

    Raises BadModelFile, UnsupportedModel, UnsupportedCpu.
    """
    isa(), threads()  # what is forced must be possible
    with _in_one_go(), hashed(path) as file:
        # measured: 65 ms of imports, while the file is being hashed
        from engine.engine import make_model

        return make_model(file, widen=widen, progress=progress)


def load_decoder(
    path: str | os.PathLike[str], *, widen: bool = False, cache_mib: float | None = None, kv: str = "float16",
    progress: Progress | None = None,
) -> "LanguageModel":  # fmt: skip
    """Read the GGUF file of a decoder and make it ready. cache_mib: memory for keys and values, else `pages.SHARE` of
    what is free, and no more than is useful; kv: one of KINDS. `widen` and `progress` are those of `load`.

    Raises BadModelFile, UnsupportedModel, UnsupportedCpu; EngineError for the other arguments.
    """
    isa(), threads()  # what is forced must be possible
    if kv not in KINDS:
        raise EngineError(f"kv: found {kv!r:.40}, expected one of {', '.join(KINDS)}")
    with _in_one_go(), hashed(path) as file:
        # measured: 92 ms of imports, while the file is being hashed
        from engine.generate.load import make_decoder

        return make_decoder(file, widen=widen, cache_mib=cache_mib, kv=kv, progress=progress)


@contextmanager
def _in_one_go() -> Iterator[None]:
    """Nobody looks for garbage meanwhile: what is imported and read is made to stay, and to go through it again and
    again takes a tenth of a second."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
