"""Where the last tokens of one text stand in another."""

from engine.kernels.compiled import entry
from engine.simd import I32

LONGEST = 8


@entry
def find(source: I32, ids: I32, size: int) -> tuple[int, int]:
    """The place in `source` after the most of the last LONGEST tokens of ids[:size], of equal ones the last, and how
    many they are. At least one token follows there; 0 and 0 if there is no such place."""
    best, most = 0, 0
    for at in range(source.size - 1, 0, -1):
        same = 0
        while same < LONGEST and same < at and same < size and source[at - 1 - same] == ids[size - 1 - same]:
            same += 1
        if same > most:
            best, most = at, same
            if most == LONGEST:
                break
    return best, most
