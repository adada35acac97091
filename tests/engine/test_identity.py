"""Same input, same bytes: on every instruction set, for any number of threads, in any batch, compiled or not."""

import json
import random
from pathlib import Path

import pytest

import engine
from tests.encoders import write_encoder
from tests.engine.digests import Digests, ask
from tests.engine.isas import COMPARED, need
from tests.models import WORDS

GOLDEN = Path(__file__).parents[1] / "golden" / "numerics.json"
HARD = [
    "",
    "ok",
    "Invoice no. 2026-0417: the total amount due is €1,234.56, payable within 30 days.",
    "Der Mieter zahlt die Miete am ersten Tag jedes Monats. Führerschein, naïve café, 東京 ½",
    "\u202e\ufeff <script>alert(0)</script> ﷽ ﷽ ﷽ !!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!",
    "This agreement is made between the parties named below; neither of them may disclose what it learns. " * 8,
    "a " * 500,
]


def made_up(count: int, longest: int) -> list[str]:
    """Texts of 0 to `longest` words of the tiny model's vocabulary."""
    chance = random.Random(5)
    return [" ".join(chance.choices(WORDS, k=chance.randrange(longest + 1))) for _ in range(count)]


TINY = [*made_up(40, 126), "the " * 126]


def check(found: Digests, expected: Digests) -> None:
    for name in ("each", "alone", "reversed"):
        assert found[name] == expected["each"], name
    for name in ("similarity", "softmax"):
        assert found.get(name) == expected.get(name), name


@pytest.fixture(scope="module")
def tiny_digests(tiny_model: Path) -> Digests:
    return ask(tiny_model, TINY)


@pytest.fixture(scope="module")
def real_digests(real_model: Path) -> Digests:
    return ask(real_model, HARD)


SETTINGS = [(isa, 1 + at % 2) for at, isa in enumerate(COMPARED)]
"""One thread and two in turn; for the real model the other way round."""


def environment(isa: str, threads: int) -> dict[str, str]:
    need(isa)
    return {"CLOISTER_ISA": isa, "CLOISTER_THREADS": str(threads)}


@pytest.mark.parametrize(("isa", "threads"), SETTINGS)
def test_a_tiny_model(isa: str, threads: int, tiny_model: Path, tiny_digests: Digests) -> None:
    found = ask(tiny_model, TINY, **environment(isa, threads))
    assert (found["isa"], found["threads"]) == (isa, threads)
    check(found, tiny_digests)


@pytest.mark.parametrize(("isa", "threads"), SETTINGS)
def test_the_real_model(isa: str, threads: int, real_model: Path, real_digests: Digests) -> None:
    check(ask(real_model, HARD, **environment(isa, 3 - threads)), real_digests)


ENCODERS = [("bert", "span", "q8_0"), ("nomic_bert", "sequence", "q8_0"), ("modernbert", "tokens", "q8_0"),
            ("nomic_bert", "embedding", "f32"), ("modernbert", "embedding", "f32")]  # fmt: skip
PAIRS = [(encoder, isa) for encoder in ENCODERS for isa in COMPARED]


@pytest.fixture(scope="module")
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Digests]:
    """A model of an architecture and head, and its digests."""
    name, head, file_type = request.param
    path = tmp_path_factory.mktemp("encoder") / "m.gguf"
    engine.import_model(write_encoder(path.parent / "hf", name, head), path, name="m", file_type=file_type)
    return path, ask(path, SHORT)


SHORT = [text[:30] for text in made_up(7, 7)]


@pytest.mark.parametrize(("encoder", "isa"), PAIRS, indirect=["encoder"], scope="module")
def test_every_architecture_and_head(isa: str, encoder: tuple[Path, Digests]) -> None:
    path, expected = encoder
    assert len(set(expected["each"])) > 4
    check(ask(path, SHORT, **environment(isa, 2)), expected)


def check_plain_python(path: Path, texts: list[str]) -> None:
    plain, compiled = ask(path, texts, "hasty", NUMBA_DISABLE_JIT="1"), ask(path, texts, "hasty")
    assert (plain["compiled"], compiled["compiled"]) == (False, True)
    check(plain, compiled)


@pytest.mark.parametrize("encoder", ENCODERS, indirect=True, scope="module")
def test_every_architecture_as_plain_python(encoder: tuple[Path, Digests]) -> None:
    check_plain_python(encoder[0], SHORT[:2])


def test_more_threads_than_texts(tiny_model: Path, tiny_digests: Digests) -> None:
    check(ask(tiny_model, TINY, CLOISTER_THREADS="50"), tiny_digests)


def test_plain_python_gives_the_same_bytes(tiny_model: Path) -> None:
    check_plain_python(tiny_model, made_up(3, 24)[:2])


def test_a_new_arithmetic_needs_a_new_name(tiny_model: Path, tiny_digests: Digests) -> None:
    """If this fails and the change is meant: give engine.NUMERICS a new name and add what was found to the file."""
    golden = json.loads(GOLDEN.read_text())
    model = engine.load(tiny_model)
    assert model.sha256 == golden["tiny model"], "tests.models makes another model now"
    found = {name: tiny_digests[name] for name in ("similarity", "softmax")}
    assert found == {name: golden[engine.NUMERICS][name] for name in found}, found
