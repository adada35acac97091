"""Decoders of several architectures: what the metadata says becomes a `Shape`, and one forward pass computes all."""

from engine.errors import UnsupportedModel
from engine.gguf import GgufFile
from engine.kernels.attention.paged_operands import PAGE
from engine.models.decoders.architectures import DECODERS
from engine.models.decoders.arguments import Pages
from engine.models.decoders.decoder import Decoder
from engine.models.decoders.matrices import Plan
from engine.models.decoders.shape import Shape
from engine.models.stored import Keep

__all__ = ["DECODERS", "PAGE", "Decoder", "Pages", "Shape", "examine", "load", "read_shape"]


def read_shape(file: GgufFile) -> Shape:
    """The shape of a decoder's file. Raises BadModelFile and UnsupportedModel."""
    name = file.require("general.architecture", str)
    if name not in DECODERS:
        expected = f"expected one of {', '.join(DECODERS)}"
        raise UnsupportedModel(f"{file.path}: architecture {name!r:.60}, {expected}")
    return DECODERS[name](file)


def examine(file: GgufFile) -> Shape:
    """The shape of a decoder's file, all of whose tensors are checked too. Raises BadModelFile and UnsupportedModel."""
    shape = read_shape(file)
    Plan(file, shape).check_values()
    return shape


def load(file: GgufFile, keep: Keep, threads: int = 0) -> Decoder:
    """The decoder of a file; `keep` gives the arrays that a function makes, or has made before; `threads`: 0 for those
    of this machine. Raises BadModelFile and UnsupportedModel."""
    shape = read_shape(file)
    plan = Plan(file, shape)
    return Decoder(shape, plan.arena(), keep(plan.arrays), file, threads)
