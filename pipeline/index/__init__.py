"""One index of the log, in state/, which can be deleted and made again: days, runs, models, and the rows for lists."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.index.index import Index, open_index, rows_in_order
    from pipeline.index.values import SORTS, Filter, Item, Night, Page, RunTold

__getattr__, __dir__ = surface(__name__, __file__)
