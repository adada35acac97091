"""The protocol of a model type of a Hugging Face folder: a module that names its keys, tensors and heads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from engine.convert.folder import SourceFolder
from engine.gguf import MetadataValue


@dataclass(frozen=True)
class Source:
    """Where a tensor comes from: its name and shape (rows, columns) in the source, and how many first rows are left
    out."""

    name: str
    shape: tuple[int, ...]
    skipped: int = 0

    @property
    def kept(self) -> tuple[int, ...]:
        """The shape in the GGUF file."""
        return (self.shape[0] - self.skipped, *self.shape[1:])


@dataclass(frozen=True)
class HeadLayout:
    """The head on an encoder, by names in the source: perhaps a dense layer with its activation and norm, then the
    output. A bias is there unless `config` has the named flag, and it is false."""

    output: str
    dense: str | None = None
    activation: str | None = None
    norm: str | None = None
    dense_bias: str | None = None
    norm_bias: str | None = None


class ModelType(Protocol):
    """A module such as `engine.convert.bert`."""

    ARCHITECTURE: str

    PREFIXES: tuple[str, ...]
    """What may stand before the encoder's tensors, in a model with a head."""

    IGNORED: tuple[str, ...]
    """How tensors begin that are no weights, or belong to a head for pretraining."""

    HEADS: Mapping[str, HeadLayout]

    def read_metadata(self, folder: SourceFolder, config: dict[str, Any]) -> dict[str, MetadataValue]:
        """The keys of the architecture; refuses what would be computed wrongly."""

    def tensors(self, config: dict[str, Any]) -> dict[str, Source]:
        """Name in the GGUF file -> source."""

    def stays_f32(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether a tensor is kept as F32 in files of every type."""


def affine(name: str, source: str, shape: tuple[int, ...], *, bias: bool = True) -> dict[str, Source]:
    """The weight and, perhaps, the bias of a layer or norm."""
    found = {f"{name}.weight": Source(f"{source}.weight", shape)}
    return found | ({f"{name}.bias": Source(f"{source}.bias", shape[:1])} if bias else {})
