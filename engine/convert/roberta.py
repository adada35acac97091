"""RoBERTa and XLM-RoBERTa as GGUF: architecture `bert` of llama.cpp, without the positions that are never used.

Their first token has position pad_token_id + 1 (fairseq's counting); the rows before it are left out, so that the first
token has position 0 as in BERT.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.convert import bert
from engine.convert.base import HeadLayout, Source
from engine.convert.folder import SourceFolder
from engine.errors import BadModelFile
from engine.gguf import MetadataValue

ARCHITECTURE = "bert"
PREFIXES: tuple[str, ...] = ("roberta.",)
IGNORED: tuple[str, ...] = ("embeddings.position_ids", "pooler.", "lm_head.")

HEADS: Mapping[str, HeadLayout] = {
    "sequence": HeadLayout("classifier.out_proj", dense="classifier.dense", activation="tanh"),
    "tokens": HeadLayout("classifier"),
    "span": HeadLayout("qa_outputs"),
}

stays_f32 = bert.stays_f32


def read_metadata(folder: SourceFolder, config: dict[str, Any]) -> dict[str, MetadataValue]:
    """The keys of the architecture. Raises UnsupportedModel for a variant that would be computed wrongly."""
    found = bert.read_metadata(folder, config)
    pad, positions = config.get("pad_token_id"), config["max_position_embeddings"]
    if type(pad) is not int or not 0 <= pad < positions - 1:
        where = f"{folder.path}/config.json: pad_token_id"
        raise BadModelFile(f"{where}: found {pad!r:.40}, expected a number below max_position_embeddings - 1")
    return found | {"bert.context_length": positions - pad - 1}


def tensors(config: dict[str, Any]) -> dict[str, Source]:
    """Name in the GGUF file -> source, in the order of the GGUF file."""
    found = bert.tensors(config)
    positions = replace(found["position_embd.weight"], skipped=config["pad_token_id"] + 1)
    return found | {"position_embd.weight": positions}
