"""How good the answers of a job are, on documents whose answers are known: measured, reported, and demanded."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.quality.gate import check_quality
    from pipeline.quality.page import write_page
    from pipeline.quality.qualify import Asked, Measured, Prices, Qualification

__getattr__, __dir__ = surface(__name__, __file__)
