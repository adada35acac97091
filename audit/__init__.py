"""The audit log: what happened, signed, so that anyone with the public key can check it. See README.md and
FORMAT.md."""

from audit.bundles import VERIFIER, write_tlog_tiles
from audit.canonical import canonical, parse_canonical
from audit.checkpoint import Checkpoint
from audit.commitment import check_commitment, commit_to, is_commitment
from audit.cosign import parse_witness_key
from audit.durable import (
    create_durably,
    remove_durably,
    rename_durably,
    sync_filesystem,
    sync_folder,
    write_file_atomically,
)
from audit.errors import AuditError, KeyRefused, LogHeld, LogUntrusted, LogUnwritable, ProofRefused
from audit.kept import KEPT
from audit.lock import hold
from audit.log import Log
from audit.parallel import workers
from audit.place import file_system_of, is_network
from audit.private import how_to_reach, read_private
from audit.prove import Proven, check_proof, prove, prove_entries, root_of
from audit.read import check_tail, read_checkpoint, read_entries
from audit.recover import Cut
from audit.report import Finding, VerifyReport
from audit.rotation import Rotation, current_key, key_history, rotations
from audit.sign import (
    derive_secret,
    generate_key,
    is_protected,
    open_note,
    open_signer,
    parse_public_key,
    public_key_of,
)
from audit.stamp import Stamp, stamp_now
from audit.statement import check_statement, key_id_of, sign_statement, signing_key
from audit.verify import verify
from audit.witness import Witnessed, cosign_checkpoint, request_witness
