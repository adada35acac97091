"""`cloister audit verify`, `prove` and `check`: is the log whole, and do results and archive agree with it? And one
record of it, with the proof that it is there."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import audit
import pipeline
from jobs.cli.options import (
    OutFile,
    Witnesses,
    argument,
    option,
    read_key,
    read_note,
    read_proof,
    read_witnesses,
    refusing,
    write_given,
)
from jobs.cli.printing import Answer, At, Exact, refused
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.progress import telling
from jobs.record import tell_not_recorded
from jobs.visible import one_line

_LISTED = 20


def verify(
    at: At,
    key: Annotated[
        str | None, option("--key", "Trust this verifier key, or the one in this file; else site.yaml's.", "KEY")
    ] = None,
    against: Annotated[
        Path | None, option("--against", "Prove that the log extends this kept or cosigned checkpoint.", "FILE")
    ] = None,
    witness: Witnesses = None,
) -> Answer:
    """Two verdicts. Integrity: every byte of the log. Completeness: results, archive and failed/ against its entries.

    Exit 4 if anything was altered or added; what was taken away since is told, but is no tampering. Exit 2 if nothing
    was, but files could not be read, or private/ does not open all that it should.
    """
    site = at.site
    trusted = site.public_key if key is None else read_key("--key", key)
    if witness and against is None:
        raise ConfigError(Problem("--witness", "a cosignature of no checkpoint", "with --against FILE"))
    witnesses = read_witnesses(witness)
    kept = read_note(against) if against else None
    if _is_strangers(site, trusted):
        return _stranger(site, trusted)
    site = dataclasses.replace(site, public_key=_present(site.audit, trusted))
    with telling("verifying") as tell:

        def progress(done: int, total: int) -> None:
            tell(done, total, "entries of the log" if 2 * done < total else "results and archive")

        verification = pipeline.verify(site, progress, against=kept, witnesses=witnesses)
    if verification.sound:
        at.record(_verified(verification))
    else:
        tell_not_recorded("the log cannot be trusted, and nothing is appended to it")
    code = exit_code_of(verification)
    verdicts = {"ok": verification.ok, "complete": verification.complete}
    told = {**verdicts, **vars(verification), "trusted": trusted, "signed_by": site.public_key, "exit_code": code}
    return Answer(told, _lines(verification, site, trusted, against), code)


def _verified(verification: pipeline.proof.Verification) -> pipeline.records.Verified:
    return pipeline.records.Verified(
        size=verification.size,
        root=verification.root.hex(),
        integrity=len(verification.integrity),
        altered=len(verification.altered),
        added=len(verification.added),
        absent=len(verification.absent),
    )


def _present(folder: Path, trusted: str) -> str:
    """The key that signs now, if `trusted` handed over to it; else `trusted`, of which the verification then tells."""
    try:
        return audit.current_key(folder, trusted)
    except audit.LogUntrusted:
        return trusted


def _is_strangers(site: pipeline.Site, trusted: str) -> bool:
    """Whether site.yaml's key signs the log, and the one that was given does not, nor handed over to it.
    ConfigError for a key of a log of another name."""
    if (origin := audit.parse_public_key(trusted).origin) != site.origin:
        raise ConfigError(Problem("--key", f"a key of the log {origin!r}", f"one of this log, {site.origin!r}"))
    if trusted == site.public_key:
        return False
    try:
        return site.public_key == audit.current_key(site.audit, site.public_key) != _present(site.audit, trusted)
    except audit.LogUntrusted:
        return False


def _stranger(site: pipeline.Site, trusted: str) -> Answer:
    """Nothing is verified, for then site.yaml or the key that was given is wrong, and only a person knows which."""
    told = f"the log is signed by {site.public_key}, which site.yaml names; {trusted} never handed over to it"
    error = {"message": told, "problems": []}
    lines = (
        f"THE AUDIT LOG {site.origin} IS NOT SIGNED BY THE KEY THAT WAS GIVEN, nor by one that it handed over to.",
        f"  signed by     {site.public_key}, which site.yaml names",
        "  it means      the key that was given is another log's, or the log and site.yaml were replaced together",
        "  checked       that alone",
    )
    code = ExitCode.AUDIT_FAILED
    return Answer({"ok": False, "error": error, "exit_code": code}, lines, code)


def exit_code_of(verification: pipeline.proof.Verification) -> ExitCode:
    """The exit code that tells the worse of the two verdicts."""
    if not verification.ok:
        return ExitCode.AUDIT_FAILED
    return ExitCode.DONE if verification.read else ExitCode.BAD_CONFIG


def _lines(
    verification: pipeline.proof.Verification, site: pipeline.Site, trusted: str, against: Path | None
) -> Iterator[str]:
    """Both verdicts; which checkpoint the log extends, and which keys handed over since the one that is trusted."""
    yield from verification_lines(verification, site.origin)
    if against and _extends(verification):
        yield f"  extends       the checkpoint in {against}"
    if trusted == site.public_key or not verification.sound:
        return
    chain = audit.rotations(site.audit, site.public_key)
    first = next(n for n, each in enumerate(chain) if each.old_key == trusted)
    for each in chain[first:]:
        yield f"  handed over   at entry {each.n:,} to {each.new_key}"
    yield "                the key that was given vouches for the entries before; if it was ever stolen, for no others"


def verification_lines(verification: pipeline.proof.Verification, origin: str) -> Iterator[str]:
    """Both verdicts, and what was found."""
    if verification.private:
        yield f"NOT ALL COULD BE JUDGED: {verification.private}."
        yield "  remedy        bring private/ back from a backup, or verify as the user who may read it"
    yield from _verdict(verification, origin)
    for what, findings in (
        ("log", verification.integrity),
        ("altered", verification.altered),
        ("added", verification.added),
        ("absent (no tampering: the log proves that it was there)", verification.absent),
        ("not readable, and so not compared", verification.unreadable),
        ("not judged, for entries that tell of it cannot be opened", verification.unjudged),
    ):
        if findings:
            yield f"  {what}:"
        yield from (f"    {one_line(each.where)}: {one_line(each.message)}" for each in findings[:_LISTED])
        if len(findings) > _LISTED:
            yield f"    and {len(findings) - _LISTED:,} more"
    yield from (f"  note          {one_line(note)}" for note in verification.notes)


def _extends(verification: pipeline.proof.Verification) -> bool:
    return verification.sound and not any(finding.where == audit.KEPT for finding in verification.integrity)


def _verdict(verification: pipeline.proof.Verification, origin: str) -> Iterator[str]:
    """The worse of the two first. Results are held only against a log whose entries are whole."""
    if not verification.sound:
        yield f"THE AUDIT LOG {origin} CANNOT BE TRUSTED. Results and archive were not held against it. First wrong:"
        return
    whole = f"whole: {verification.size:,} entries, every one under the signed checkpoint."
    if verification.altered or verification.added:
        yield f"RESULTS OR ARCHIVED DOCUMENTS DIFFER FROM THE AUDIT LOG {origin}. The log itself is {whole}"
    elif not _extends(verification):
        yield f"THE AUDIT LOG {origin} WAS NOT HELD AGAINST THE KEPT CHECKPOINT. The log itself is {whole}"
    elif verification.integrity:
        yield f"IN THE AUDIT LOG {origin} LIES WHAT IS NO PART OF IT. The log itself is {whole}"
    elif not verification.read:
        yield f"NOTHING WAS ALTERED, BUT NOT ALL COULD BE READ. The audit log {origin} is {whole}"
    else:
        yield f"The audit log {origin} is {whole}"
    yield f"  integrity     whole, root {verification.root.hex()}"
    found = {name: getattr(verification, name) for name in ("altered", "added", "absent", "unreadable", "unjudged")}
    complete = ", ".join(f"{len(findings):,} {kind}" for kind, findings in found.items() if findings)
    yield f"  completeness  {complete or 'all that the log proves is there, unchanged, and nothing else'}"
    yield "  checked       " + ", ".join(f"{what} {number:,}" for what, number in verification.checked.items())


def prove(
    at: At,
    number: Annotated[int, argument("N", "The record's number in the log, from 0.", min=0)],
    out: OutFile = None,
    under: Annotated[
        Path | None, option("--under", "Prove it under this kept or cosigned checkpoint, not today's.", "FILE")
    ] = None,
) -> Answer:
    """Write one record with its inclusion proof and the signed checkpoint.

    Whoever has the log's public key can check it anywhere, with `cloister audit check` or any other reader of
    c2sp.org/tlog-proof. The entry and its proof are checked, the rest of the log is not: `audit verify` does that.
    """
    site = at.site
    checkpoint = read_note(under) if under else None
    with refusing(str(number), LookupError):
        text = audit.prove(site.audit, site.public_key, number, checkpoint)
    at.record(pipeline.records.ReadProof(entry=number))
    write_given(out, text.encode())
    return Answer({"entry": number, "proof": text, "file": out}, _proof_lines(site, number, text, out))


def _proof_lines(site: pipeline.Site, number: int, text: str, out: Path | None) -> Iterator[str]:
    if not out:
        yield Exact(text)
        return
    key = _signer(site, text)
    what = "the log's public key" if key == site.public_key else "the earlier key that signed that checkpoint"
    yield f"The proof of entry {number} is in {out}. It is checked with {what}:"
    yield f"    cloister audit check {out} --key {key}"


def _signer(site: pipeline.Site, text: str) -> str:
    for key in (site.public_key, *reversed(audit.key_history(site.audit, site.public_key))):
        with contextlib.suppress(audit.ProofRefused):
            audit.check_proof(text, key)
            return key
    return site.public_key


def check(
    file: Annotated[Path, argument("FILE", "What `cloister audit prove` wrote.")],
    key: Annotated[str, option("--key", "The log's public key, from elsewhere, or a file with it.", "KEY")],
    witness: Witnesses = None,
) -> Answer:
    """Check the proof of one record: that the log with this key holds it, exactly so, at this place.

    Needs nothing else, no workspace and no log. Exit 4 if the proof does not hold.
    """
    text, trusted = read_proof(file), read_key("--key", key)
    witnesses = read_witnesses(witness)
    try:
        proven = audit.check_proof(text, trusted, witnesses)
    except audit.ProofRefused as error:
        return refused(error, f"{file} PROVES NOTHING: {error}", ExitCode.AUDIT_FAILED)
    return Answer({"ok": True, **vars(proven), "data": proven.data.decode()}, _proven_lines(proven))


def _proven_lines(proven: audit.Proven) -> Iterator[str]:
    checkpoint = proven.checkpoint
    under = f"under a checkpoint of {checkpoint.size:,} entries"
    yield f"Proved: this is entry {proven.index} of the log {checkpoint.origin}, {under}."
    if "handed" in proven.entry:
        said = "proved is that somebody said it, not that it is so"
        yield f"  It was handed to the log by who may write to state/: {said}."
    for name, seconds in proven.cosigned.items():
        yield f"  cosigned   {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC by {name}"
    width = max(10, *map(len, proven.entry))
    for name, value in proven.entry.items():
        yield f"  {name:<{width}} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
