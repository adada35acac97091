"""The memory of this process over a night, and what a path costs of it.

The night is compared with itself, each time a part is committed and little is under way: the memory in use in its
fourth quarter with that in its second. Documents of a folder are there twice, the second time in the same order, each
with work and a row of its own, so that the same ones are under way at both places; of generated ones it is others of
the same kinds. The first quarter is not compared: meanwhile what is bounded gets its size, such as the tokenizer's
memory of words (codepoints.Cache). In use is what Python, malloc and Arrow have given out. What the process holds for
that comes in steps of one or two MiB, more than some thousand paths may cost, so that it shows nothing of them; it has
a bound of its own for the whole night (AT_ONCE).
"""

import ctypes
import gc
import os
import re
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

PER_PATH = 1024  # bytes that the parent may grow by
COMPARED = 500  # paths in half a night: in fewer, one text more or less under way is a large part of what they may cost
AT_ONCE = 32 << 20  # bytes beyond the first part: texts under way, caches, space between them; 10 to 18 MiB were seen


@dataclass
class Memory:
    """Of each look, after so many documents, the bytes in use and those held."""

    used: dict[int, int] = field(default_factory=dict)
    held: dict[int, int] = field(default_factory=dict)

    def look(self, ended: int) -> None:
        """After `ended` documents; of several looks at one place the last one counts."""
        gc.collect()
        self.used[ended], self.held[ended] = in_use(), resident()

    def per_path(self) -> float:
        """Bytes by which the memory in use grew from a path to the next, in the fourth quarter against the second.

        The lower of two: from the least in one quarter to the least in the other, and the median over the looks in the
        fourth and those nearest to half a night before them. What is kept of a path is in both; texts under way
        are in the first where there are many of them all the time, in the second where they differ between the halves.
        0 if the night was too short to tell.
        """
        last = max(self.used, default=0)
        half = last // 2
        early = [ended for ended in self.used if half // 2 <= ended < half]
        late = [ended for ended in self.used if half + half // 2 <= ended < last]
        if half < COMPARED or not early or not late:
            return 0.0
        before = [min(self.used, key=lambda ended: abs(ended + half - at)) for at in late]
        pairs = [self._slope(*pair) for pair in zip(before, late, strict=True)]
        least = [min(quarter, key=self.used.__getitem__) for quarter in (early, late)]
        return min(statistics.median(pairs), self._slope(*least))

    def _slope(self, early: int, late: int) -> float:
        return (self.used[late] - self.used[early]) / (late - early)

    def at_once(self) -> int:
        """The most that it held beyond what it held when its first part was committed, bytes."""
        looks = list(self.held.values())
        return max(looks) - looks[0] if looks else 0


class _Mallinfo(ctypes.Structure):
    """struct mallinfo2 of <malloc.h>, bytes."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "_")
    ]


def in_use() -> int:
    """Bytes that Python's own allocator, malloc (small blocks, and mappings of large ones) and Arrow have given out."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = _Mallinfo
    info = mallinfo()
    return _of_python() + info.uordblks + info.hblkhd + pa.total_allocated_bytes()


def _of_python() -> int:
    """What sys._debugmallocstats writes to the standard error: `# bytes in allocated blocks = 1,234`."""
    sys.stderr.flush()
    kept = os.dup(2)
    with os.fdopen(os.memfd_create("stats"), "rb") as told:
        os.dup2(told.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        told.seek(0)
        found = re.search(rb"# bytes in allocated blocks *= *([0-9,]+)", told.read())
    assert found
    return int(found[1].replace(b",", b""))


def resident() -> int:
    """Bytes of memory that are this process's own and no file's."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) * 1024
