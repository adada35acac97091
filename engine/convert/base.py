"""The protocol of a model type of a Hugging Face folder: a module that names its keys, tensors and heads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from engine.convert.folder import WEIGHTS, SourceFolder, read_safetensors
from engine.errors import BadModelFile, UnsupportedModel
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


MAX_VOCABULARY = 4 << 20
"""As many strings as the reader of GGUF files takes."""


def expect(folder: SourceFolder, config: dict[str, Any], expected: Mapping[str, tuple[Any, Any]]) -> None:
    """Each key has, or has by default, the value with which alone the result is right. Raises UnsupportedModel."""
    for key, (default, wanted) in expected.items():
        found = config.get(key, default)
        if found != wanted or type(found) is not type(wanted):
            raise UnsupportedModel(f"{folder.path}/config.json: {key}: found {found!r:.80}, expected {wanted!r}")


def positive(folder: SourceFolder, config: dict[str, Any], keys: Iterable[str]) -> None:
    """Each key is a whole number of at least 1. Raises BadModelFile."""
    for key in keys:
        if type(config.get(key)) is not int or not 1 <= config[key] < 1 << 31:
            found = f"found {config.get(key)!r:.40}, expected a positive number"
            raise BadModelFile(f"{folder.path}/config.json: {key}: {found}")
    if config.get("vocab_size", 0) > MAX_VOCABULARY:
        found = f"found {config['vocab_size']}, expected at most {MAX_VOCABULARY}"
        raise BadModelFile(f"{folder.path}/config.json: vocab_size: {found}")


def multiple_of_heads(folder: SourceFolder, width: int, heads: int) -> None:
    """Checks that `width` is a multiple of `heads`. Raises BadModelFile."""
    if width % heads:
        raise BadModelFile(f"{folder.path}/config.json: hidden_size: found {width}, expected a multiple of the heads")


def small(folder: SourceFolder, config: dict[str, Any], key: str) -> float:
    """A number between 0 and 1, as the epsilon of a norm is. Raises BadModelFile."""
    value = config.get(key)
    if type(value) is not float or not 0 < value < 1:
        found = f"found {value!r:.40}, expected a number between 0 and 1"
        raise BadModelFile(f"{folder.path}/config.json: {key}: {found}")
    return value


def theta(folder: SourceFolder, key: str, value: Any) -> float:
    """The base of rotary positions. Raises BadModelFile."""
    if type(value) not in (int, float) or not 1 < value < 1e9:
        found = f"found {value!r:.40}, expected a number above 1"
        raise BadModelFile(f"{folder.path}/config.json: {key}: {found}")
    return float(value)


def layers(folder: SourceFolder, count: int, least: int) -> None:
    """All layers' tensors are listed by name: no more of them than the file can hold, `least` in each layer."""
    if not folder.has(WEIGHTS):  # said by the importer
        return
    held = len(read_safetensors(folder, WEIGHTS))
    if count * least > held:
        expected = f"at most {held // least} ({WEIGHTS} has {held} tensors)"
        raise BadModelFile(f"{folder.path}/config.json: num_hidden_layers: found {count}, expected {expected}")
