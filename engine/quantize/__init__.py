"""One GGUF file to another with fewer bits."""

from engine.quantize.mixes import MIXES
from engine.quantize.model import Quantized, quantize_model

__all__ = ["MIXES", "Quantized", "quantize_model"]
