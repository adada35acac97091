"""What many tests need: a small model, the real model, the folder of real documents."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from engine.machine import free_bytes
from tests.decoders import write_decoder
from tests.models import write_bert_folder

# No test is about speed: on a busy machine examples take long to make, and a step may take seconds.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

FIRST = (
    "engine/models/test_decoder_identity.py", "test_demo.py", "engine/test_identity.py", "test_readme.py",
    "faults/test_hostile.py", "faults/test_torture.py", "engine/kernels/matmul/test_decoder.py",
    "engine/quant/test_search.py", "engine/models/test_encoders.py", "engine/models/test_decoders.py",
    "engine/test_fences.py", "engine/test_accuracy.py", "jobs/test_cli_bench.py", "pipeline/outbox/test_recover.py",
    "faults/test_replay.py",
)  # fmt: skip
"""Files that take long, so that none of them begins last, and two do not compile the same."""


RAM = Path("/dev/shm")
ROOM = 6 << 30  # bytes: a run of all tests has left less than 4 GiB behind


def pytest_configure(config: pytest.Config) -> None:
    """Temporary folders lie in memory, where there is room and programs may be started there: tests wait for a disk
    some fifty times for each run of a job. Commands write to pipes as they do for an operator."""
    os.environ.pop("PYTHONUNBUFFERED", None)
    if config.option.basetemp is None and _is_roomy(RAM):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(RAM))


def _is_roomy(folder: Path) -> bool:
    if not os.access(folder, os.W_OK):
        return False
    room = os.statvfs(folder)
    return not room.f_flag & os.ST_NOEXEC and min(room.f_bavail * room.f_frsize, free_bytes()) > ROOM


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long goes first."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(FIRST)))


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """Each test begins with the usual umask: a command that ran in this process has taken rights away from it."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name, which `make` fills once in a run of the suite: other processes wait, and share it."""
    base = factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, part = base / name, base / f"{name}.part"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part)
            part.rename(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The GGUF file of a small random BERT: 2 layers of width 64, context 128."""
    import engine

    def make(folder: Path) -> None:
        engine.import_model(write_bert_folder(folder / "hf"), folder / "tiny.gguf", file_type="q8_0", name="tiny")

    return made_once(tmp_path_factory, "tiny-model", make) / "tiny.gguf"


@pytest.fixture(scope="session")
def tiny_exact_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in float32, without a calibration, which would take a minute and a half in plain Python."""
    import engine

    def make(folder: Path) -> None:
        engine.import_model(write_bert_folder(folder / "hf"), folder / "tiny.gguf", file_type="f32", name="tiny")

    return made_once(tmp_path_factory, "tiny-exact-model", make) / "tiny.gguf"


@pytest.fixture(scope="session")
def tiny_decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The GGUF file of a small random llama with a context of 4096."""
    metadata = {"llama.context_length": 4096, "llama.rope.freq_base": 1e6}

    def make(folder: Path) -> None:
        write_decoder(folder / "writer.gguf", "llama", metadata=metadata)

    return made_once(tmp_path_factory, "tiny-decoder", make) / "writer.gguf"


@pytest.fixture(scope="session")
def real_model() -> Path:
    """The GGUF file of all-MiniLM-L6-v2 that `make test` makes."""
    if not (path := os.environ.get("CLOISTER_MODEL")):
        pytest.skip("CLOISTER_MODEL is not set: `make test` sets it to the converted model")
    return Path(path)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real documents and vectors."""
    if not (path := os.environ.get("CLOISTER_DATA")):
        pytest.skip("CLOISTER_DATA is not set: it names the folder of real documents and test vectors")
    return Path(path)


@pytest.fixture
def ram_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder where fsync costs nothing, for tests that make many copies of a log."""
    if not os.access(RAM, os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="cloister-", dir=RAM))
    yield folder
    shutil.rmtree(folder)
