"""The audit log: what happened, signed, so that anyone with the public key can check it. See README.md and
FORMAT.md."""

from audit.canonical import canonical, parse_canonical
from audit.checkpoint import Checkpoint
from audit.durable import (
    make_folder_durably,
    remove_durably,
    rename_durably,
    sync_file,
    sync_filesystem,
    sync_folder,
    write_file_atomically,
)
from audit.errors import AuditError, KeyRefused, LogHeld, LogUntrusted, LogUnwritable
from audit.log import Log
from audit.read import read_checkpoint, read_entries
from audit.recover import Cut
from audit.report import Finding, VerifyReport
from audit.sign import generate_key
from audit.stamp import Stamp, stamp_now
from audit.verify import verify

__all__ = [
    "AuditError",
    "Checkpoint",
    "Cut",
    "Finding",
    "KeyRefused",
    "Log",
    "LogHeld",
    "LogUntrusted",
    "LogUnwritable",
    "Stamp",
    "VerifyReport",
    "canonical",
    "generate_key",
    "make_folder_durably",
    "parse_canonical",
    "read_checkpoint",
    "read_entries",
    "remove_durably",
    "rename_durably",
    "stamp_now",
    "sync_file",
    "sync_filesystem",
    "sync_folder",
    "verify",
    "write_file_atomically",
]
