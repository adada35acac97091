"""Architectures, one file each, and what stands on them."""

from collections.abc import Callable
from types import ModuleType

from engine.errors import UnsupportedModel
from engine.gguf import GgufFile
from engine.models import bert, modern_bert, nomic_bert
from engine.models.classifier import Classifier, read_classifier
from engine.models.head import Head, Kind, read_head
from engine.models.network import Network
from engine.models.pooling import Pooling
from engine.models.sizes import Sizes, read_sizes
from engine.models.stored import Arrays, Keep

__all__ = ["ARCHITECTURES", "Head", "Kind", "Network", "Readout", "load", "read_shape"]

ARCHITECTURES: dict[str, ModuleType] = {"bert": bert, "nomic-bert": nomic_bert, "modern-bert": modern_bert}
Readout = Pooling | Classifier


def read_shape(file: GgufFile) -> tuple[ModuleType, Sizes, Head]:
    """Architecture, sizes and head of a file, from its metadata. Raises BadModelFile and UnsupportedModel."""
    name = file.require("general.architecture", str)
    if name not in ARCHITECTURES:
        expected = f"expected one of {', '.join(ARCHITECTURES)}"
        raise UnsupportedModel(f"{file.path}: architecture {name!r:.60}, {expected}")
    module = ARCHITECTURES[name]
    return module, read_sizes(file, name, rotary=module.ROTARY), read_head(file, name)


def load(file: GgufFile, keep: Keep) -> tuple[Network, Readout]:
    """The encoder of a file and what reads its states; `keep` gives the arrays that a function makes, or has made
    before. Raises BadModelFile and UnsupportedModel."""
    module, sizes, head = read_shape(file)

    def with_head(make: Callable[[], Arrays]) -> Arrays:
        return keep(lambda: make() | (read_classifier(file, head, sizes.d_model) if head.labels else {}))

    network: Network = module.load(file, sizes, with_head)
    if head.kind == "embedding":
        return network, Pooling(head, sizes.d_model)
    return network, Classifier(head, sizes, network.arrays)
