"""Text to token ids, as the metadata of a model file says; a new kind is a file here and a line in MODELS."""

from collections.abc import Callable
from importlib import import_module

from engine.errors import UnsupportedModel
from engine.tokenizer.base import Encoding, Template, Tokenizer
from engine.tokenizer.metadata import Metadata
from engine.tokenizer.prompts import Piece

__all__ = ["MODELS", "Encoding", "Piece", "Template", "Tokenizer", "from_metadata"]

# llama.cpp's name in `tokenizer.ggml.model` -> the file that reads the rest, imported when a model needs it
MODELS = {"bert": "wordpiece", "t5": "unigram", "gpt2": "bpe", "llama": "spm"}


def from_metadata(metadata: Metadata) -> Tokenizer:
    """The tokenizer that a GGUF file describes. Raises BadModelFile; UnsupportedModel for another kind of tokenizer."""
    model = metadata.get("tokenizer.ggml.model")
    if not isinstance(model, str) or model not in MODELS:
        raise UnsupportedModel(f"tokenizer.ggml.model: found {model!r:.60}, expected one of {', '.join(MODELS)}")
    module = import_module(f"{__name__}.{MODELS[model]}")
    read: Callable[[Metadata], Tokenizer] = module.from_metadata
    return read(metadata)
