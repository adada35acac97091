"""From the input folder to documents in their order: found, taken in, known or new, read."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.inbox.batches import Sightings
    from pipeline.inbox.discover import Candidate, Scan
    from pipeline.inbox.find import check_inbox, set_aside
    from pipeline.inbox.reader import protections_here

__getattr__, __dir__ = surface(__name__, __file__)
