"""A document as a person looks at it: its text and its pages beside its row, and where on them its evidence stands."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.view.drawer import Drawer
    from pipeline.view.places import Place
    from pipeline.view.structure import Block, Marked, blocks_of
    from pipeline.view.unseen import WAYS
    from pipeline.view.viewed import NotShownError, Viewed, draw_page, open_document
    from pipeline.view.windows import window_at, windows_of

__getattr__, __dir__ = surface(__name__, __file__)
