"""The stages of one run, one file each: open, find, begin, answer, close. Each gives a frozen value to the next."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.stages.ahead import Memory, known_costs, machines_of, memory_of, model_of, waiting

__getattr__, __dir__ = surface(__name__, __file__)
