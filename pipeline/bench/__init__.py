"""How fast a model is on this machine."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.bench.measure import Bench, Ceiling, bench_model

__getattr__, __dir__ = surface(__name__, __file__)
