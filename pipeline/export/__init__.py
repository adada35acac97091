"""A range of the log as a folder that whoever gets it can check without this program."""

from pipeline.export.folder import Exported, export

__all__ = ["Exported", "export"]
