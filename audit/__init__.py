"""The audit log: what happened, signed, so that anyone with the public key can check it. See README.md and
FORMAT.md."""

from audit.bundles import VERIFIER, write_tlog_tiles
from audit.canonical import canonical, parse_canonical
from audit.checkpoint import Checkpoint
from audit.commitment import check_commitment, commit_to, is_commitment
from audit.cosign import parse_witness_key
from audit.durable import remove_durably, sync_filesystem, sync_folder, write_file_atomically
from audit.errors import AuditError, KeyRefused, LogHeld, LogUntrusted, LogUnwritable, ProofRefused
from audit.kept import KEPT
from audit.lock import hold
from audit.log import Log
from audit.parallel import workers
from audit.place import file_system_of, is_network
from audit.prove import Proven, check_proof, prove, prove_entries, root_of
from audit.read import read_checkpoint, read_entries
from audit.recover import Cut
from audit.report import Finding, VerifyReport
from audit.rotation import Rotation, current_key, key_history, rotations
from audit.sign import derive_secret, generate_key, is_protected, parse_public_key, public_key_of
from audit.stamp import Stamp, stamp_now
from audit.verify import verify
from audit.witness import Witnessed, cosign_checkpoint, request_witness

__all__ = [
    "KEPT",
    "VERIFIER",
    "AuditError",
    "Checkpoint",
    "Cut",
    "Finding",
    "KeyRefused",
    "Log",
    "LogHeld",
    "LogUntrusted",
    "LogUnwritable",
    "ProofRefused",
    "Proven",
    "Rotation",
    "Stamp",
    "VerifyReport",
    "Witnessed",
    "canonical",
    "check_commitment",
    "check_proof",
    "commit_to",
    "cosign_checkpoint",
    "current_key",
    "derive_secret",
    "file_system_of",
    "generate_key",
    "hold",
    "is_commitment",
    "is_network",
    "is_protected",
    "key_history",
    "parse_canonical",
    "parse_public_key",
    "parse_witness_key",
    "prove",
    "prove_entries",
    "public_key_of",
    "read_checkpoint",
    "read_entries",
    "remove_durably",
    "request_witness",
    "root_of",
    "rotations",
    "stamp_now",
    "sync_filesystem",
    "sync_folder",
    "verify",
    "workers",
    "write_file_atomically",
    "write_tlog_tiles",
]
