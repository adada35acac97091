"""A range of the log as a folder that whoever gets it can check without this program."""

from pipeline.proof.export.folder import Exported, export

__all__ = ["Exported", "export"]
