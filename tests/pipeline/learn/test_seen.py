"""Texts are known again by their words, and where one stands whole in another, all its fingerprints do."""

import random
from pathlib import Path

import numpy as np
import pytest

from pipeline.heads import HeadFile, read_head, write_head
from pipeline.learn.seen import RUN, Seen, fingerprints, text_digest, words_of


def words(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return [f"w{chance.randrange(500)}" for _ in range(count)]


def test_case_and_punctuation_do_not_count() -> None:
    assert words_of("The Lease,\n of_a FLAT!") == ["the", "lease", "of", "a", "flat"]
    assert text_digest(words_of("The lease.")) == text_digest(words_of("the LEASE"))
    assert text_digest(words_of("The lease.")) != text_digest(words_of("the leases"))
    assert len(text_digest([])) == 16


@pytest.mark.parametrize("seed", range(10))
def test_a_text_inside_another_has_no_other_fingerprints(seed: int) -> None:
    chance = random.Random(seed)
    inner = words(seed, chance.randrange(RUN, 300))
    outer = [*words(seed + 100, chance.randrange(200)), *inner, *words(seed + 200, chance.randrange(200))]
    assert np.isin(fingerprints(inner), fingerprints(outer)).all()
    assert not np.isin(fingerprints(words(seed + 300, 300)), fingerprints(outer)).any()


def test_short_texts_have_none_and_long_ones_few() -> None:
    assert fingerprints(words(1, RUN - 1)).size == 0
    assert fingerprints(words(1, RUN)).size == 1
    assert 500 < fingerprints(words(1, 10_000)).size < 1200  # about two of every RUN - WORDS + 2 words


def test_a_head_keeps_them(tmp_path: Path) -> None:
    seen = Seen.of(["The lease.", " ".join(words(1, 100)), "the lease", " ".join(words(2, 50))])
    write_head(tmp_path / "a.head", HeadFile(seen.facts(), dict(seen.arrays())))
    again = Seen.of_head(read_head(tmp_path / "a.head"))
    assert again is not None
    assert again.texts == seen.texts == tuple(sorted(seen.texts))
    assert len(again.texts) == 3
    assert (again.windows == seen.windows).all()
    assert (again.sizes == seen.sizes).all()
    assert int(again.sizes.sum()) == again.windows.size
    assert Seen.of_head(HeadFile({}, {})) is None


def test_none_at_all_is_something_too() -> None:
    seen = Seen.of([])
    assert (seen.texts, seen.windows.size, seen.sizes.size) == ((), 0, 0)
    assert Seen.of_head(HeadFile(seen.facts(), dict(seen.arrays()))) is not None
