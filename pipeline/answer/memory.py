"""Memory that documents have left behind goes back from the C library to the system."""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of <malloc.h>
_LARGE = 1 << 20  # bytes: texts of books and arrays of batches, which are few
_ARENAS = 2


def give_back_freed() -> None:
    """Bind glibc's malloc for the rest of this process; may be called again. Other C libraries have nothing to bind.

    By itself it keeps what is freed: each thread has an arena, and the largest buffer seen decides up to which size
    they are filled from and how much free space stays on top. So memory grows with every large document that meets
    another arena. Here large buffers are mappings of their own, which end with their use, and arenas are few and short.
    Source: mallopt(3), `M_MMAP_THRESHOLD` (dynamic adjustment ends once any of them is set).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _LARGE), (_ARENA_MAX, _ARENAS)):
            mallopt(parameter, value)
