"""Numbers: models from GGUF files, computed on the CPU, the same bytes on every x86-64 machine. See README.md."""

import engine.compiling  # first: it tells numba for which CPU to compile  # noqa: F401
from engine import bench
from engine.convert import import_model
from engine.cpu import isa, threads
from engine.engine import NUMERICS, Model, head_of, load
from engine.errors import BadModelFile, EngineError, InputTooLong, UnsupportedCpu, UnsupportedModel
from engine.generate.constraint import AnyObject, Choice, Pattern, Schema
from engine.generate.grammar import check_constraint
from engine.generate.load import load_decoder
from engine.generate.model import LanguageModel
from engine.generate.quotes import locate
from engine.generate.request import Completion, Request
from engine.inspect import ModelFacts, inspect
from engine.kernels.vectors import similarity, softmax
from engine.quantize import MIXES, Quantized, quantize_model
from engine.spans import Answer

__all__ = [
    "MIXES",
    "NUMERICS",
    "Answer",
    "AnyObject",
    "BadModelFile",
    "Choice",
    "Completion",
    "EngineError",
    "InputTooLong",
    "LanguageModel",
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
    "head_of",
    "import_model",
    "inspect",
    "isa",
    "load",
    "load_decoder",
    "locate",
    "quantize_model",
    "similarity",
    "softmax",
    "threads",
]
