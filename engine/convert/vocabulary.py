"""The tokenizer of a model folder as GGUF metadata, whichever kind it is; what the kinds have in common."""

from collections.abc import Callable

from engine.convert import bpe, unigram, wordpiece
from engine.convert.folder import SourceFolder, as_dict
from engine.errors import UnsupportedModel
from engine.gguf import MetadataValue

Reader = Callable[[SourceFolder, int], dict[str, MetadataValue]]

# type of the model in tokenizer.json -> what reads the rest
READERS: dict[str, Reader] = {"WordPiece": wordpiece.read, "Unigram": unigram.read, "BPE": bpe.read}


def read(folder: SourceFolder, vocab_size: int) -> dict[str, MetadataValue]:
    """The metadata of the tokenizer in the folder. Raises BadModelFile, or UnsupportedModel for an unknown kind."""
    full = folder.json_object("tokenizer.json") if folder.has("tokenizer.json") else {}
    kind = as_dict(full.get("model")).get("type", "WordPiece")
    if not isinstance(kind, str) or kind not in READERS:
        expected = ", ".join(READERS)
        raise UnsupportedModel(
            f"{folder.path}/tokenizer.json: model.type: found {kind!r:.80}, expected one of {expected}"
        )
    return READERS[kind](folder, vocab_size)
