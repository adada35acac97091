"""The filter of system calls that the kernel holds processes to: its instructions, and what is refused of networks."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.kernel.network import WATCHED, Silence, refuse_network, watch_network

__getattr__, __dir__ = surface(__name__, __file__)
