"""Architectures, one file each, and what stands on them."""

from collections.abc import Callable
from types import ModuleType

from engine.errors import UnsupportedModel
from engine.gguf import GgufFile
from engine.models import bert, modern_bert, nomic_bert
from engine.models.calibration import TEXTS, Calibration, calibrated
from engine.models.head import Classifier, Head, Kind, Pooling, read_classifier, read_head
from engine.models.network import Network, Sizes, read_sizes
from engine.models.stored import Arrays, Keep, read_only
from engine.models.weights import Smoothing
from engine.tokenizer import Tokenizer

__all__ = ["ARCHITECTURES", "Head", "Kind", "Network", "Readout", "load", "read_shape"]

ARCHITECTURES: dict[str, ModuleType] = {"bert": bert, "nomic-bert": nomic_bert, "modern-bert": modern_bert}
Readout = Pooling | Classifier
Loaded = tuple[Network, Readout]


def read_shape(file: GgufFile) -> tuple[ModuleType, Sizes, Head]:
    """Architecture, sizes and head of a file, from its metadata. Raises BadModelFile and UnsupportedModel."""
    name = file.require("general.architecture", str)
    if name not in ARCHITECTURES:
        expected = f"expected one of {', '.join(ARCHITECTURES)}"
        raise UnsupportedModel(f"{file.path}: architecture {name!r:.60}, {expected}")
    module = ARCHITECTURES[name]
    return module, read_sizes(file, name, rotary=module.ROTARY), read_head(file, name)


def load(file: GgufFile, words: Tokenizer, keep: Keep) -> Loaded:
    """The encoder of a file and what reads its states; `keep` gives the arrays that a function makes, or has made
    before, and `words` is the tokenizer of the file. Raises BadModelFile and UnsupportedModel."""
    module, sizes, head = read_shape(file)

    def network_of(arrays: Arrays) -> Network:
        made = read_only(arrays)  # as those that are kept: for arrays of another type all would be compiled once more
        network: Network = module.load(file, sizes, lambda make: made)
        return network

    def whole(make: Callable[[Smoothing], Arrays]) -> Arrays:
        ids = [each[: sizes.context] for each in words.encode_many(TEXTS)]
        arrays = calibrated(make, network_of, Calibration(ids, head.pooling))
        return arrays | (read_classifier(file, head, sizes.d_model) if head.labels else {})

    network: Network = module.load(file, sizes, lambda make: keep(lambda: whole(make)))
    if head.kind == "embedding":
        return network, Pooling(head, sizes.d_model)
    return network, Classifier(head, sizes, network.arrays)
