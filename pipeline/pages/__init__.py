"""How pages for people look: one stylesheet, one template around each page, axes and charts, and text that is safe."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.pages.axes import Tick, axis
    from pipeline.pages.template import render_page

__getattr__, __dir__ = surface(__name__, __file__)
