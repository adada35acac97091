"""Weights that are kept between runs: made once, mapped, never wrong, and no condition for anything."""

import errno
import mmap
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.compiling import CODE
from engine.models import stored as module
from engine.models.stored import Arrays, stored

Made = list[str]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLOISTER_CACHE", str(tmp_path))
    return tmp_path / "weights"


def example(made: Made | None = None, seed: int = 0) -> Arrays:
    random = np.random.default_rng(seed)
    if made is not None:
        made.append("again")
    return {
        "a.weights": random.integers(-128, 128, 1000).astype(np.int8),
        "nothing": np.zeros(0, np.float32),
        "b.scales": random.standard_normal(77).astype(np.float32),
    }


def same(found: Arrays, expected: Arrays) -> None:
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)


def root(array: Any) -> Any:
    while isinstance(array, np.ndarray):
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def test_made_once_then_mapped_and_never_written_to(cache: Path) -> None:
    made: Made = []
    for _ in range(3):
        found, kept = stored("key", "1", lambda: example(made))
        assert kept
        same(found, example())
        for array in found.values():
            assert not array.flags.writeable
            if array.size:
                assert isinstance(root(array), mmap.mmap)
                assert array.ctypes.data % 64 == 0
    assert made == ["again"]
    assert [path.name for path in cache.iterdir()] == ["key-1.weights"]


def test_what_was_made_is_not_in_memory_beside_what_is_mapped(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, seen, read = [], [], module._read

    def make() -> Arrays:
        arrays = example()
        made.append(weakref.ref(arrays["a.weights"]))
        return arrays

    def watch(path: Path, key: str) -> Arrays | None:
        seen.append([reference() is None for reference in made])
        return read(path, key)

    monkeypatch.setattr(module, "_read", watch)
    assert stored("key", "1", make)[1]
    assert seen == [[], [True]]


def test_a_kernel_without_huge_pages(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 9999)  # it refuses what it does not know
    with pytest.raises(OSError, match="Invalid argument"):
        mmap.mmap(-1, mmap.PAGESIZE).madvise(mmap.MADV_HUGEPAGE)
    found, kept = stored("m", "1", example)
    assert kept
    same(found, example())


def test_another_key_is_another_file(cache: Path) -> None:
    stored("one", "1", example)
    found, _ = stored("other", "1", lambda: example(seed=1))
    same(found, example(seed=1))
    same(stored("one", "1", example)[0], example())
    assert len(list(cache.iterdir())) == 2


def test_another_version_is_made_anew(cache: Path) -> None:
    stored("key", "1", example)
    found, kept = stored("key", "2", lambda: example(seed=1))
    assert kept
    same(found, example(seed=1))


def test_weights_that_other_code_kept_are_not_looked_at(cache: Path, tiny_model: Path) -> None:
    """They may have other lengths, which compiled code would not notice."""
    vectors = engine.load(tiny_model).embed(["the lease"])
    (path,) = cache.iterdir()
    other = path.with_name(path.name.replace(CODE, "0" * len(CODE)))
    path.rename(other)
    assert engine.load(tiny_model).embed(["the lease"]).tobytes() == vectors.tobytes()
    assert sorted(cache.iterdir()) == sorted([path, other])


def test_what_is_old_goes_when_something_is_kept(cache: Path) -> None:
    cache.mkdir()
    names = ["killed.part", "key-0.weights", "other-0.weights", "writes.part", "key-2.weights"]
    for name in names:
        (cache / name).touch()
    (cache / "key-folder.weights").mkdir()
    for name in [*names[:3], "key-folder.weights"]:
        os.utime(cache / name, (0, 0))
    for _ in range(2):
        assert stored("key", "1", example)[1]
        expected = [*names[2:], "key-1.weights", "key-folder.weights"]
        assert sorted(path.name for path in cache.iterdir()) == sorted(expected)


def test_what_is_damaged_is_made_anew(cache: Path) -> None:
    stored("key", "1", example)
    path = cache / "key-1.weights"
    good = path.read_bytes()
    start = 16 + int.from_bytes(good[8:16], "little")
    damaged = [b"", b"CLOISTER", good[:-1], good + b"\0", good[: len(good) // 2], b"\0" * len(good), b"[" * 4096]
    damaged += [b"\x7fELF" + good[4:], good[:8] + b"\xff" * 8 + good[16:]]
    for at in (start, start + 999, len(good) - 1, len(good) - 100):
        damaged.append(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
    for content in damaged:
        path.write_bytes(content)
        made: Made = []
        found, kept = stored("key", "1", lambda made=made: example(made))
        assert (kept, made) == (True, ["again"])
        same(found, example())
        assert path.read_bytes() == good


def test_a_damaged_header_is_never_believed(cache: Path) -> None:
    stored("key", "1", example)
    path = cache / "key-1.weights"
    good = path.read_bytes()
    for at in range(16 + int.from_bytes(good[8:16], "little")):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        same(stored("key", "1", example)[0], example())
    other = path.with_name("other-1.weights")
    other.write_bytes(good)
    same(stored("other", "1", lambda: example(seed=1))[0], example(seed=1))


def test_a_folder_in_its_place_is_no_failure(cache: Path) -> None:
    (cache / "key-1.weights").mkdir(parents=True)
    found, kept = stored("key", "1", example)
    assert not kept
    same(found, example())
    assert [path.name for path in cache.iterdir()] == ["key-1.weights"]


def test_the_name_appears_when_everything_is_on_the_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    sync = os.fsync

    def watch(descriptor: int) -> None:
        sync(descriptor)
        seen.append([path.suffix for path in cache.iterdir()])

    monkeypatch.setattr(os, "fsync", watch)
    stored("key", "1", example)
    assert seen == [[".part"]]
    assert [path.name for path in cache.iterdir()] == ["key-1.weights"]


@pytest.mark.parametrize("where", ["fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_without_room_arrays_live_in_memory(
    cache: Path, where: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(*{"fsync": (os, "fsync"), "replace": (Path, "replace")}[where], full)
    found, kept = stored("key", "1", example)
    assert not kept
    same(found, example())
    assert not any(array.flags.writeable for array in found.values())
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("folder", ["/proc/self/nothing", "/dev/null/nothing"])
def test_without_a_folder_arrays_live_in_memory(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOISTER_CACHE", folder)
    found, kept = stored("key", "1", example)
    assert not kept
    same(found, example())
    assert not any(array.flags.writeable for array in found.values())


def test_a_run_that_is_stopped_while_writing_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        stored("key", "1", example)
    assert list(cache.iterdir()) == []


def test_what_cannot_be_made_is_not_kept(cache: Path) -> None:
    def fail() -> Arrays:
        raise engine.BadModelFile("no tensor x")

    with pytest.raises(engine.BadModelFile, match="no tensor x"):
        stored("key", "1", fail)
    assert list(cache.iterdir()) == []


PROGRAM = """
import hashlib, os, sys
import numpy as np
from engine.models.stored import stored
os.read(0, 1)
make = lambda: {"a": np.random.default_rng(1).integers(-128, 128, 1 << 22).astype(np.int8)}
for _ in range(3):
    arrays, kept = stored("key", "1", make)
    print(kept, hashlib.sha256(arrays["a"].data).hexdigest())
"""


def test_several_processes_at_once(cache: Path) -> None:
    read, write = os.pipe()
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=read, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    os.close(read)
    os.write(write, b"go now")
    lines = [process.communicate()[0].splitlines() for process in running]
    os.close(write)
    assert len({line for part in lines for line in part}) == 1
    assert [len(part) for part in lines] == [3] * 4
    assert lines[0][0].startswith("True ")
    assert [path.name for path in cache.iterdir()] == ["key-1.weights"]


def test_a_model_gives_the_same_from_memory_from_a_new_file_and_from_an_old_one(
    cache: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["the lease", "rechnung 17, total due"]
    new, old = (engine.load(tiny_model).embed(texts).tobytes() for _ in range(2))
    monkeypatch.setattr(module, "weights_folder", lambda: None)
    assert new == old == engine.load(tiny_model).embed(texts).tobytes()
    (path,) = cache.iterdir()
    assert path.name == f"{engine.load(tiny_model).sha256}-{engine.kernels.matmul.encoder.LAYOUT}-{CODE}.weights"


def test_a_model_says_whether_its_weights_are_kept(
    cache: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as change:
        change.setattr(os, "fsync", full)
        without = engine.load(tiny_model)
    assert without.facts["weights_kept"] == "no"
    vectors = without.embed(["the lease"])
    with_them = engine.load(tiny_model)
    assert with_them.facts["weights_kept"] == "yes"
    assert with_them.embed(["the lease"]).tobytes() == vectors.tobytes()


def test_models_that_differ_in_a_byte_never_share_weights(cache: Path, tiny_model: Path, tmp_path: Path) -> None:
    content = bytearray(tiny_model.read_bytes())
    first = engine.load(tiny_model).embed(["the lease"])
    content[-2] ^= 0x40
    (tmp_path / "other.gguf").write_bytes(content)
    assert engine.load(tmp_path / "other.gguf").embed(["the lease"]).tobytes() != first.tobytes()
    assert len(list(cache.iterdir())) == 2
