"""Vectors of examples are kept in state/vectors/, so that the same texts are not embedded again each night.

A file holds the vectors of the texts that a job last asked for: a line of text, a line of facts as canonical JSON (the
model, its arithmetic, how many vectors of how many numbers), the sha256 of each text, the vectors (little-endian), and
the HMAC-SHA256 of all that, with a secret that is derived from the log's signing key: who may write to state/ may not
change answers. A file of another model or arithmetic, or one that is torn or not sealed so, is as if it was not there.
It may be deleted at any time.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import audit
import engine
from pipeline.plan import RunPlan, Site
from pipeline.records.indexes.vectors import forget_vectors, vectors_of
from pipeline.tasks.embedding.prompted import WithPrompts

Vectors = NDArray[np.float32]
WORTH: Final = 64  # texts: fewer are embedded in no time
MOST: Final = 100_000  # texts whose vectors are kept, the first of them: 150 MB
SECONDS: Final = 20.0  # of work that may be lost when somebody stops it
_MAGIC: Final = b"cloister vectors 1\n"
_DIGEST: Final = hashlib.sha256().digest_size


class KeptVectors:
    """A model that embeds a text once, as long as its vector is kept."""

    def __init__(self, model: WithPrompts, path: Path, facts: Mapping[str, Any], secret: bytes | None) -> None:
        """`secret` seals the file; without one nothing is kept."""
        self._model, self._path, self._facts, self._secret = model, path, facts, secret
        self._kept = _read(path, facts, secret) if secret else {}
        self._used: dict[bytes, Vectors] = {}
        self._saved = monotonic()

    @property
    def context(self) -> int:
        """Tokens of the longest text, as the model says."""
        return self._model.context

    @property
    def prompts(self) -> tuple[str, str]:
        """The texts before a query and before a document, as the model says."""
        return self._model.prompts

    @property
    def unrelated(self) -> float:
        """The cosine of two texts that have nothing to do with each other, as the model says."""
        return self._model.unrelated

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, as the model says."""
        return self._model.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32 [n, dim]: kept vectors, and those of the model."""
        if not texts:
            return self._model.embed(texts)
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        self._used |= {digest: self._kept[digest] for digest in digests if digest in self._kept}
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._used}
        if missing:
            self._used |= dict(zip(missing, self._model.embed(list(missing.values())), strict=True))
            if monotonic() - self._saved >= SECONDS:
                self.save_so_far()
        return np.stack([self._used[digest] for digest in digests])

    def save(self) -> None:
        """Keep the vectors that were asked for, and no others."""
        self._save(self._used)
        self._kept, self._used = {}, {}

    def save_so_far(self) -> bool:
        """Keep these and those of before, for who goes on where somebody stopped this; whether they are kept."""
        self._saved = monotonic()
        return self._save(self._used | self._kept)

    def _save(self, vectors: Mapping[bytes, Vectors]) -> bool:
        """Write the first of these vectors, if they are not too few, and say whether they are there; a disk that is
        full, or may not be written, costs time only."""
        if not self._secret or len(vectors) < WORTH:
            return False
        try:
            if vectors.keys() != self._kept.keys():
                _write(self._path, self._facts, dict(islice(vectors.items(), MOST)), self._secret)
        except OSError:
            return False
        return True


@contextmanager
def kept_vectors(plan: RunPlan, model: engine.Model, what: str) -> Iterator[KeptVectors]:
    """The model with the vectors of the job's `what`, which are kept, also those of work that is stopped."""
    facts = {"model_sha256": model.sha256, "numerics": engine.NUMERICS, "widen": plan.model.widen}
    kept = KeptVectors(model, vectors_of(plan.site) / f"{plan.job}.{what}", facts, _secret(plan.site))
    try:
        yield kept
    except BaseException as error:
        if kept.save_so_far():
            error.add_note("The vectors of what was embedded are kept, and the same command goes on from there.")
        raise
    kept.save()


def _secret(site: Site) -> bytes | None:
    """The secret that seals kept vectors; None for who cannot read the log's key, and where what is kept of documents
    may be encrypted: a vector tells much of its text."""
    if site.at_rest.on:
        forget_vectors(site)
        return None
    with suppress(audit.KeyRefused, OSError):
        return audit.derive_secret(site.key_file, site.public_key, "state/vectors", site.passphrase_file)
    return None


def _read(path: Path, facts: Mapping[str, Any], secret: bytes) -> dict[bytes, Vectors]:
    """The vectors in a file by the digest of their text; none where the file cannot be trusted."""
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if not body.startswith(_MAGIC) or not hmac.compare_digest(hmac.digest(secret, body, "sha256"), digest):
        return {}
    line, _, rest = body[len(_MAGIC) :].partition(b"\n")
    count, dim = (_number(line, key) for key in ("count", "dim"))
    if line != _facts_line(facts, count, dim) or len(rest) != count * (_DIGEST + 4 * dim):
        return {}
    vectors = np.frombuffer(rest, "<f4", offset=count * _DIGEST).astype(np.float32).reshape(count, dim)
    return {rest[at * _DIGEST : (at + 1) * _DIGEST]: vector for at, vector in enumerate(vectors)}


def _facts_line(facts: Mapping[str, Any], count: int, dim: int) -> bytes:
    return audit.canonical({**facts, "count": count, "dim": dim})


def _number(line: bytes, key: str) -> int:
    found = re.search(rb'"%s":(\d{1,9})[,}]' % key.encode(), line)
    return int(found[1]) if found else 0


def _write(path: Path, facts: Mapping[str, Any], vectors: Mapping[bytes, Vectors], secret: bytes) -> None:
    together = np.stack(list(vectors.values()))
    line = _facts_line(facts, *together.shape)
    body = b"".join([_MAGIC, line, b"\n", *vectors, together.astype("<f4").tobytes()])
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        partial.write_bytes(body + hmac.digest(secret, body, "sha256"))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
