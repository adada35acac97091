"""Paths: opened without leaving their folder, named, matched, shown."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.paths.beneath import HELD_OPEN, shared_with

__getattr__, __dir__ = surface(__name__, __file__)
