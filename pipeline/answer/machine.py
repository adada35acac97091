"""What a machine gives to those who ask before a run: instruction sets, CPUs, memory, and kernels that are compiled."""

from pathlib import Path

import engine
from pipeline.errors import ModelRefusedError

Machine = engine.Machine


def look_at_machine(root: Path = Path("/")) -> Machine:
    """Look at this machine; the files of the kernel are read below `root`. OSError."""
    return engine.look_at_machine(root)


def kernels_of(model: Path) -> tuple[str, bool]:
    """The name of the kernels that a model file is computed with, and whether they are compiled for this machine and
    version. ModelRefusedError and OSError."""
    try:
        return engine.kernels_of(model)
    except engine.EngineError as error:
        raise ModelRefusedError(str(error)) from error
