"""Models and heads under control: admitted, revoked, verified, compared, and put back."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.control.admit import Note, NotStatedError, verify_models
    from pipeline.control.compare import Comparison, Said, read_lines
    from pipeline.control.files import find_file, list_heads
    from pipeline.control.rollback import NothingBeforeError, roll_back

__getattr__, __dir__ = surface(__name__, __file__)
