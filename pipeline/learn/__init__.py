"""Heads are learned from examples, and what they promise is measured on examples that they did not see."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.learn.learning import LearnReport

__getattr__, __dir__ = surface(__name__, __file__)
