"""Numbers: models from GGUF files, computed on the CPU, the same bytes on every x86-64 machine. See README.md.

What is public is imported when it is first asked for: commands that compute nothing do not wait for a compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import engine.compiling  # first: it tells numba for which CPU to compile
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
    from engine.heads import Bags, Logistic, fit_logistic, fit_ridge
    from engine.kernels.vectors import similarity, softmax
    from engine.machine import Machine, look_at_machine
    from engine.models.head import Answer, Head
    from engine.quant.mixes import MIXES
    from engine.quantize import Quantized, quantize_model

_LATER = {
    "engine.convert": ("import_model",),
    "engine.engine": ("NUMERICS", "Model", "examine", "head_of", "kernels_of", "own_head_of"),
    "engine.description": ("ModelFacts", "inspect"),
    "engine.generate.constraint.grammar": ("check_constraint",),
    "engine.generate.constraint.quotes": ("locate",),
    "engine.generate.model": ("LanguageModel",),
    "engine.generate.request": ("Completion", "Request"),
    "engine.heads": ("Bags", "Logistic", "fit_logistic", "fit_ridge"),
    "engine.kernels.vectors": ("similarity", "softmax"),
    "engine.machine": ("Machine", "look_at_machine"),
    "engine.models.head": ("Answer", "Head"),
    "engine.quant.mixes": ("MIXES",),
    "engine.quantize": ("Quantized", "quantize_model"),
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
    return sorted({*globals(), *_HOMES, "bench"})
