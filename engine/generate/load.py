"""Makes a language model of a decoder's file."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from engine import tokenizer
from engine.compiling import CODE, DECODER, is_whole, note_whole
from engine.cpu import threads
from engine.errors import BadModelFile
from engine.generate.constraint.grammar import Grammars
from engine.generate.model import LanguageModel, Messages, Wording
from engine.generate.request import Ids, Request
from engine.gguf import GgufFile, check_whole
from engine.kernels.matmul.decoder import LAYOUT
from engine.models import decoders
from engine.models.stored import Arrays, stored
from engine.simd.compiled import announced
from engine.tokenizer import Tokenizer
from engine.tokenizer.chat.template import ChatTemplate, read_chat_template
from engine.widened import WIDE, facts, is_widened, widened

_FUNCTIONS = 91
"""How many functions are compiled for a decoder: counted."""


def make_decoder(
    file: GgufFile, *, widen: bool, cache_mib: float | None, kv: str, progress: Callable[[str], None] | None
) -> LanguageModel:
    """The language model in a file that is being hashed; `engine.load_decoder` has the arguments and errors."""
    check_whole(file)
    file = widened(file) if widen else file
    kept: list[bool] = []

    def keep(make: Callable[[], Arrays]) -> Arrays:
        arrays, is_kept = stored(file.sha256, f"{LAYOUT}-{CODE}{WIDE * is_widened(file)}", make)
        kept.append(is_kept)
        return arrays

    with ThreadPoolExecutor(1) as reader:  # a vocabulary takes as long to read as the digest of the file
        reading = reader.submit(_read_words, file)
        decoder = decoders.load(file, keep)
        words, template = reading.result()
    _fit(file, words, decoder.shape.vocab)
    model = LanguageModel(
        decoder, words, sha256=file.sha256, makes=_grammars(words), cache_mib=cache_mib, kv=kv,
        chat=_chat(words, template),
        facts=facts(file) | {
            "weights_kept": "yes" if all(kept) else "no", "kv": kv, "chat_template_sha256": template.sha256
        },
    )  # fmt: skip
    _warm_up(model, progress or (lambda line: None))
    return model


def examine_decoder(file: GgufFile) -> Wording:
    """Checks a decoder's file without loading its weights. Raises what `load_decoder` would."""
    check_whole(file)
    shape = decoders.examine(file)
    words, template = _read_words(file)
    _fit(file, words, shape.vocab)
    return Wording(words, _chat(words, template), _grammars(words), shape.context)


def _chat(words: Tokenizer, template: ChatTemplate) -> Callable[[Messages], Ids]:
    return lambda messages: words.encode_pieces(template.render(messages))


def _read_words(file: GgufFile) -> tuple[Tokenizer, ChatTemplate]:
    with file.named():
        words = tokenizer.from_metadata(file.metadata)
        return words, read_chat_template(file.metadata, words.specials)


def _fit(file: GgufFile, words: Tokenizer, vocab: int) -> None:
    if len(words.token_bytes) > vocab:
        found = f"found {len(words.token_bytes)} tokens, expected at most {vocab}, the rows of token_embd.weight"
        raise BadModelFile(f"{file.path}: tokenizer.ggml.tokens: {found}")
    words.token_bytes.extend([b""] * (vocab - len(words.token_bytes)))  # rows that no token has


def _grammars(words: Tokenizer) -> Grammars:
    return Grammars(words.token_bytes, words.end_ids, words.encode_within, threads=threads())


def _warm_up(model: LanguageModel, progress: Callable[[str], None]) -> None:
    """Compile now, not in the middle of a night; where that is done, nothing: a pass reads all weights."""
    if is_whole(DECODER):
        return
    nothing = np.zeros(1, np.int32)
    requests = [Request(nothing, 2), Request(nothing, 0, choices=(nothing,))]
    with announced(_FUNCTIONS, progress):
        for _ in model.generate(requests):
            pass
    note_whole(DECODER)
