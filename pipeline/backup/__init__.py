"""Backups of a workspace, and a workspace made of one again. README.md says what is in them and what they are for."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.backup.making import BackedUpNow, NeverStillError
    from pipeline.backup.manifest import BackupRefusedError
    from pipeline.backup.restoring import Restored

__getattr__, __dir__ = surface(__name__, __file__)
