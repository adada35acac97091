"""Numbers: models from GGUF files, computed on the CPU, the same bytes on every x86-64 machine. See README.md.

What is public is imported when it is first asked for: commands that compute nothing do not wait for a compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import engine.compiling  # first: it tells numba for which CPU to compile  # noqa: F401
from engine.cpu import isa, threads
from engine.errors import BadModelFile, EngineError, InputTooLong, UnsupportedCpu, UnsupportedModel
from engine.generate.constraint.spec import AnyObject, Choice, Pattern, Schema
from engine.loading import load, load_decoder

if TYPE_CHECKING:
    from engine import bench
    from engine.convert import import_model
    from engine.description import ModelFacts, inspect
    from engine.engine import NUMERICS, Model, examine, head_of, kernels_of, own_head_of
    from engine.generate.constraint.grammar import check_constraint
    from engine.generate.constraint.quotes import locate
    from engine.generate.model import LanguageModel
    from engine.generate.request import Completion, Request
    from engine.heads.logistic import Logistic, fit_logistic
    from engine.heads.products import Bags
    from engine.heads.ridge import fit_ridge
    from engine.kernels.vectors import similarity, softmax
    from engine.machine import Machine, look_at_machine
    from engine.models.head import Head
    from engine.quantize import MIXES, Quantized, quantize_model
    from engine.spans import Answer

__all__ = [
    "MIXES",
    "NUMERICS",
    "Answer",
    "AnyObject",
    "BadModelFile",
    "Bags",
    "Choice",
    "Completion",
    "EngineError",
    "Head",
    "InputTooLong",
    "LanguageModel",
    "Logistic",
    "Machine",
    "Model",
    "ModelFacts",
    "Pattern",
    "Quantized",
    "Request",
    "Schema",
    "UnsupportedCpu",
    "UnsupportedModel",
    "bench",
    "check_constraint",
    "examine",
    "fit_logistic",
    "fit_ridge",
    "head_of",
    "import_model",
    "inspect",
    "isa",
    "kernels_of",
    "load",
    "load_decoder",
    "locate",
    "look_at_machine",
    "own_head_of",
    "quantize_model",
    "similarity",
    "softmax",
    "threads",
]

_LATER = {
    "engine.convert": ("import_model",),
    "engine.engine": ("NUMERICS", "Model", "examine", "head_of", "kernels_of", "own_head_of"),
    "engine.description": ("ModelFacts", "inspect"),
    "engine.generate.constraint.grammar": ("check_constraint",),
    "engine.generate.model": ("LanguageModel",),
    "engine.generate.constraint.quotes": ("locate",),
    "engine.generate.request": ("Completion", "Request"),
    "engine.heads.logistic": ("Logistic", "fit_logistic"),
    "engine.heads.products": ("Bags",),
    "engine.heads.ridge": ("fit_ridge",),
    "engine.kernels.vectors": ("similarity", "softmax"),
    "engine.machine": ("Machine", "look_at_machine"),
    "engine.models.head": ("Head",),
    "engine.quantize": ("MIXES", "Quantized", "quantize_model"),
    "engine.spans": ("Answer",),
}
_HOMES = {name: home for home, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "bench":
        return import_module("engine.bench")
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return __all__
