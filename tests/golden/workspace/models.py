"""The three models of the golden workspace, made anew: they are small and random, and not kept beside it."""

import hashlib
from pathlib import Path

import engine
from tests.decoders import write_decoder
from tests.models import write_bert_folder

SHA256 = {
    "tiny": "7532a1c01b3a44df80bdff6f64ff70945a73fabf26f0f2c89fcc730d3693f905",
    "tiny-before": "3bd876e45d38173af84bb4347a2e1a0dadb2f7e4392fa09f95c5e309da9c4cb4",
    "writer": "7b1cd8bd0056c2dceb68fda435804dc876e5fb9c6102cf1abc85ff10c71698a4",
}
"""What the workspace's log says of them."""
SEEDS = {"tiny": 1, "tiny-before": 0}


def write_models(folder: Path, scratch: Path) -> None:
    """Make the files NAME.gguf in `folder`, with the bytes that SHA256 names. AssertionError where they have others:
    the rows of the golden workspace cannot be made again without these."""
    folder.mkdir(exist_ok=True)
    for name, seed in SEEDS.items():
        source = write_bert_folder(scratch / name, seed=seed)
        engine.import_model(source, folder / f"{name}.gguf", file_type="q8_0", name="tiny")
    write_decoder(folder / "writer.gguf", "llama", metadata={"llama.context_length": 4096, "llama.rope.freq_base": 1e6})
    assert {name: sha256_of(folder / f"{name}.gguf") for name in SHA256} == SHA256


def sha256_of(file: Path) -> str:
    """The sha256 of a file's bytes, in hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
