"""The night: documents under one instruction, whose answers are JSON of one schema, about 60 tokens each.

Both programs get the same token ids. llama.cpp gets the schema as a grammar of the same compact JSON, for its own
conversion of a schema allows white space, on which random weights would spend most of their tokens.
"""

from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine import tokenizer
from engine.gguf import read
from engine.tokenizer import Piece
from tests.benchmarks.lm import vocabulary

INSTRUCTION, SHORTEST, LONGEST = 500, 700, 1500  # tokens
LIMIT, FREE = 160, 60
"""Tokens of an answer: at most, and where nothing is asked of it."""
SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["lease", "invoice", "letter", "report", "order"]},
        "party": {"type": "string", "minLength": 1, "maxLength": 30},
        "date": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
        "total": {"type": "integer", "minimum": 0, "maximum": 99999},
        "urgent": {"type": "boolean"},
        "summary": {"type": "string", "minLength": 40, "maxLength": 120},
    },
    "required": ["kind", "party", "date", "total", "urgent", "summary"],
    "additionalProperties": False,
}
GRAMMAR = r"""
root ::= "{\"kind\":" kind ",\"party\":\"" c{1,30} "\",\"date\":\"" d{4} "-" d{2} "-" d{2} "\",\"total\":" total rest
rest ::= ",\"urgent\":" ("true" | "false") ",\"summary\":\"" c{40,120} "\"}"
kind ::= "\"lease\"" | "\"invoice\"" | "\"letter\"" | "\"report\"" | "\"order\""
total ::= "0" | [1-9] d{0,4}
d ::= [0-9]
c ::= [^"\\\x7F\x00-\x1F]
"""


Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Night:
    """What an engine made of it: seconds for all, tokens of all answers, how many ended by their length, and tokens of
    prompts that were computed, not found computed before."""

    documents: int
    seconds: float
    tokens: int
    failed: int
    computed: int = 0

    def __add__(self, other: "Night") -> "Night":
        """Both, one after the other."""
        return Night(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def rate(self) -> float:
        """Documents an hour."""
        return 3600 * self.documents / self.seconds


def prompts(path: Path, count: int) -> list[Ids]:
    """The ids of so many prompts, int32: the instruction first, then a document."""
    metadata = read(path).metadata
    text = tokenizer.from_metadata(metadata)
    random = np.random.default_rng(0)
    words = vocabulary.known(len(metadata["tokenizer.ggml.tokens"]), 4096)  # type: ignore[arg-type]

    def content(size: int) -> Piece:
        return Piece(" " + " ".join(words[i] for i in random.integers(len(words), size=size)), True)

    begin = [Piece("<|im_start|>system\n", False), content(INSTRUCTION), Piece("<|im_end|>\n<|im_start|>user\n", False)]
    end = Piece("<|im_end|>\n<|im_start|>assistant\n", False)
    sizes = random.integers(SHORTEST, LONGEST + 1, count)
    return [text.encode_pieces([*begin, content(int(size)), end]) for size in sizes]
