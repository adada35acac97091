"""sha256 of a mapped file, which takes most of a second a gigabyte: in a thread while something else is done."""

import hashlib
import mmap
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager

_AT_A_TIME = 64 << 20  # bytes; between two parts a thread may have to wait for Python's lock


class Digest:
    """The sha256 of all bytes of a mapping, computed once."""

    def __init__(self, mapping: mmap.mmap) -> None:
        self._mapping = mapping
        self._found: Future[str] | None = None
        self._is_wanted = True

    @property
    def hexadecimal(self) -> str:
        """The digest as 64 hexadecimal digits."""
        if self._found is None:
            with self.ahead():
                pass
        assert self._found is not None
        return self._found.result()

    @contextmanager
    def ahead(self) -> Iterator[None]:
        """Computes it while something else is done; if that fails, no further. When this is over no thread looks at the
        mapping any more: someone may write into a file that was refused, and who reads bytes that are cut off a mapped
        file ends with it."""
        with ThreadPoolExecutor(1, "sha256") as pool:
            self._is_wanted = True
            self._found = pool.submit(self._compute)
            try:
                yield
            except BaseException:
                self._is_wanted, self._found = False, None
                raise

    def _compute(self) -> str:
        """Computes the digest. The pages that were read leave the process's memory: weights are executed from another
        file."""
        digest = hashlib.sha256()
        with memoryview(self._mapping) as view:
            for start in range(0, len(view), _AT_A_TIME):
                if not self._is_wanted:
                    raise CancelledError
                part = view[start : start + _AT_A_TIME]
                digest.update(part)
                self._mapping.madvise(mmap.MADV_DONTNEED, start, len(part))
        return digest.hexdigest()
