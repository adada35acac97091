"""Text to token ids, as the metadata of a model file says."""

from engine.tokenizer.metadata import from_metadata
from engine.tokenizer.wordpiece import Tokenizer

__all__ = ["Tokenizer", "from_metadata"]
