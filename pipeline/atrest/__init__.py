"""Encryption at rest: what is kept of documents is written and read through this room, encrypted or in the clear."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.atrest.errors import DamagedError, EncryptedError
    from pipeline.atrest.files import AtRest
    from pipeline.atrest.store import make_kek, store_of

__getattr__, __dir__ = surface(__name__, __file__)
