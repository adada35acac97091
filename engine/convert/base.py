"""What a model type of a Hugging Face folder is: a module that names its keys and tensors."""

from typing import Any, Protocol

from engine.convert.folder import SourceFolder
from engine.gguf import MetadataValue


class ModelType(Protocol):
    """A module such as `engine.convert.bert`."""

    ARCHITECTURE: str
    IGNORED: set[str]

    def read_metadata(self, folder: SourceFolder, config: dict[str, Any]) -> dict[str, MetadataValue]:
        """The keys of the architecture; refuses what would be computed wrongly."""

    def tensors(self, config: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Name in the GGUF file -> name in the source and shape (rows, columns)."""

    def stays_f32(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether a tensor is kept as F32 in files of every type."""
