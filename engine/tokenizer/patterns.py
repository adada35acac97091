"""How texts are cut before byte pairs are merged: the names of `tokenizer.ggml.pre`.

Source: llama.cpp's `llama-vocab.cpp` for the names and its habits; the tokenizer.json files of the models for the
patterns. They are compiled code (kernels/text/splits.py); a test compares it with the published patterns.
"""

from dataclasses import dataclass

from engine.kernels.text import splits
from engine.tokenizer.compiled import Split


@dataclass(frozen=True)
class Pre:
    """The cut; form C before it; whether a part that is a piece is taken as it is; llama.cpp's habit with BOS."""

    split: Split
    nfc: bool = False
    whole_pieces: bool = False
    adds_bos: bool = False


_GPT2, _EACH_DIGIT = Split(splits.GPT2), Split(splits.GPT2, 1)
_LLAMA3 = Split(splits.CASELESS, 3)

PRE = {
    name: pre
    for names, pre in {
        "gpt-2 phi-2 mpt mellum a.x-4.0 trillion granite-docling roberta-bpe": Pre(_GPT2),
        "modern-bert olmo": Pre(_GPT2, nfc=True),
        "llama-bpe llama3 llama-v3 falcon3 pixtral midm-2.0 lfm2": Pre(_LLAMA3, whole_pieces=True, adds_bos=True),
        # files made of Llama 3's tokenizer, but without a beginning of text: SmolLM3
        "smaug-bpe": Pre(_LLAMA3, whole_pieces=True),
        # cl100k: Phi-4, Granite 4
        "dbrx": Pre(_LLAMA3),
        "qwen2 deepseek-r1-qwen megrez": Pre(Split(splits.CASELESS, 1), nfc=True),
        "tekken": Pre(Split(splits.CASED, 1), whole_pieces=True, adds_bos=True),
        # o200k: Phi-4 mini
        "gpt-4o llama4": Pre(Split(splits.CASED, 3, endings=True)),
        # Granite 3's files say refact
        "refact starcoder smollm codeshell exaone minerva-7b": Pre(_EACH_DIGIT),
        "command-r": Pre(_EACH_DIGIT, nfc=True),
        "falcon": Pre(Split(splits.FALCON)),
    }.items()
    for name in names.split()
}
