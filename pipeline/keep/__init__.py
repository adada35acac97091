"""How long documents and results are kept: retention, holds, erasure."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.keep.erasure import Erased, ErasureRefusedError

__getattr__, __dir__ = surface(__name__, __file__)
