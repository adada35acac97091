"""`cloister audit verify`: is the log whole, and do results and archive agree with it?"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

import audit
import pipeline
from jobs.cli.files import read_key, read_note
from jobs.cli.options import JsonOption, WitnessOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.progress import telling
from jobs.record import record, tell_not_recorded
from jobs.visible import one_line

_LISTED = 20


KeyOption = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", help="Trust this verifier key, or the one in this file; else site.yaml's."),
]
AgainstOption = Annotated[
    Path | None,
    typer.Option("--against", metavar="FILE", help="Prove that the log extends this kept or cosigned checkpoint."),
]


def verify(
    key: KeyOption = None,
    against: AgainstOption = None,
    witness: WitnessOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Two verdicts. Integrity: every byte of the log. Completeness: results, archive and failed/ against its entries.

    Exit 4 if anything was altered or added; what was taken away since is told, but is no tampering. Exit 2 if nothing
    was, but files could not be read, or private/ does not open all that it should.
    """
    site = make_site(open_workspace(workspace))
    trusted = site.public_key if key is None else read_key("--key", key)
    if witness and against is None:
        raise ConfigError(Problem("--witness", "a cosignature of no checkpoint", "with --against FILE"))
    witnesses = [read_key("--witness", each, witness=True) for each in witness or ()]
    kept = read_note(against, "a checkpoint of this log") if against else None
    if _is_strangers(site, trusted):
        _end_with_stranger(site, trusted, as_json)
    site = dataclasses.replace(site, public_key=_present(site.audit, trusted))
    with telling("verifying") as tell:

        def progress(done: int, total: int) -> None:
            tell(done, total, _phase(done, total))

        verification = pipeline.verify(site, progress, against=kept, witnesses=witnesses)
    _record(site, verification)
    code = exit_code_of(verification)
    if as_json:
        verdicts = {"ok": verification.ok, "complete": verification.complete}
        keys = {"trusted": trusted, "signed_by": site.public_key}
        print_json({**verdicts, **vars(verification), **keys, "exit_code": int(code)})
    else:
        print_verification(verification, site.origin)
        _print_extent(verification, site, trusted, against)
    raise typer.Exit(int(code))


def _print_extent(verification: pipeline.Verification, site: pipeline.Site, trusted: str, against: Path | None) -> None:
    """Print which checkpoint the log extends, and which keys handed over since the one that is trusted."""
    if against and _extends(verification):
        say(f"  extends       the checkpoint in {against}")
    if trusted != site.public_key and verification.sound:
        _print_handovers(site, trusted)


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


def _end_with_stranger(site: pipeline.Site, trusted: str, as_json: bool) -> None:
    """Nothing is verified, for then site.yaml or the key that was given is wrong, and only a person knows which."""
    code = int(ExitCode.AUDIT_FAILED)
    told = f"the log is signed by {site.public_key}, which site.yaml names; {trusted} never handed over to it"
    if as_json:
        print_json({"ok": False, "error": {"message": told, "problems": []}, "exit_code": code})
    else:
        say(f"THE AUDIT LOG {site.origin} IS NOT SIGNED BY THE KEY THAT WAS GIVEN, nor by one that it handed over to.")
        say(f"  signed by     {site.public_key}, which site.yaml names")
        say("  it means      the key that was given is another log's, or the log and site.yaml were replaced together")
        say("  checked       that alone")
    raise typer.Exit(code)


def exit_code_of(verification: pipeline.Verification) -> ExitCode:
    """The exit code that tells the worse of the two verdicts."""
    if not verification.ok:
        return ExitCode.AUDIT_FAILED
    return ExitCode.DONE if verification.read else ExitCode.BAD_CONFIG


def _extends(verification: pipeline.Verification) -> bool:
    return verification.sound and not any(finding.where == audit.KEPT for finding in verification.integrity)


def _print_handovers(site: pipeline.Site, trusted: str) -> None:
    """Print what an earlier key leaves open: to which keys it handed over, and at which entries."""
    chain = audit.rotations(site.audit, site.public_key)
    first = next(n for n, each in enumerate(chain) if each.old_key == trusted)
    for each in chain[first:]:
        say(f"  handed over   at entry {each.n:,} to {each.new_key}")
    say("                the key that was given vouches for the entries before; if it was ever stolen, for no others")


def _phase(done: int, total: int) -> str:
    return "entries of the log" if 2 * done < total else "results and archive"


def _record(site: pipeline.Site, verification: pipeline.Verification) -> None:
    """Nothing is appended to a log whose entries are not whole."""
    if not verification.sound:
        tell_not_recorded("the log cannot be trusted, and nothing is appended to it")
        return
    verified = pipeline.Verified(
        size=verification.size,
        root=verification.root.hex(),
        integrity=len(verification.integrity),
        altered=len(verification.altered),
        added=len(verification.added),
        absent=len(verification.absent),
    )
    record(site, verified)


def print_verification(verification: pipeline.Verification, origin: str) -> None:
    """Print both verdicts, and what was found."""
    if verification.private:
        say(f"NOT ALL COULD BE JUDGED: {verification.private}.")
        say("  remedy        bring private/ back from a backup, or verify as the user who may read it")
    _print_verdict(verification, origin)
    _print_findings("log", verification.integrity)
    _print_findings("altered", verification.altered)
    _print_findings("added", verification.added)
    _print_findings("absent (no tampering: the log proves that it was there)", verification.absent)
    _print_findings("not readable, and so not compared", verification.unreadable)
    _print_findings("not judged, for entries that tell of it cannot be opened", verification.unjudged)
    for note in verification.notes:
        say(f"  note          {one_line(note)}")


def _print_verdict(verification: pipeline.Verification, origin: str) -> None:
    """The worse of the two first. Results are held only against a log whose entries are whole."""
    if not verification.sound:
        say(f"THE AUDIT LOG {origin} CANNOT BE TRUSTED. Results and archive were not held against it. First wrong:")
        return
    whole = f"whole: {verification.size:,} entries, every one under the signed checkpoint."
    if verification.altered or verification.added:
        say(f"RESULTS OR ARCHIVED DOCUMENTS DIFFER FROM THE AUDIT LOG {origin}. The log itself is {whole}")
    elif not _extends(verification):
        say(f"THE AUDIT LOG {origin} WAS NOT HELD AGAINST THE KEPT CHECKPOINT. The log itself is {whole}")
    elif verification.integrity:
        say(f"IN THE AUDIT LOG {origin} LIES WHAT IS NO PART OF IT. The log itself is {whole}")
    elif not verification.read:
        say(f"NOTHING WAS ALTERED, BUT NOT ALL COULD BE READ. The audit log {origin} is {whole}")
    else:
        say(f"The audit log {origin} is {whole}")
    say(f"  integrity     whole, root {verification.root.hex()}")
    say(f"  completeness  {_completeness(verification)}")
    say("  checked       " + ", ".join(f"{what} {number:,}" for what, number in verification.checked.items()))


def _completeness(verification: pipeline.Verification) -> str:
    """The second verdict in one line."""
    names = ("altered", "added", "absent", "unreadable", "unjudged")
    if not any(getattr(verification, name) for name in names):
        return "all that the log proves is there, unchanged, and nothing else"
    kinds: dict[str, tuple[audit.Finding, ...]] = {name: getattr(verification, name) for name in names}
    return ", ".join(f"{len(findings):,} {kind}" for kind, findings in kinds.items() if findings)


def _print_findings(what: str, findings: tuple[audit.Finding, ...]) -> None:
    if findings:
        say(f"  {what}:")
    for finding in findings[:_LISTED]:
        say(f"    {one_line(finding.where)}: {one_line(finding.message)}")
    if len(findings) > _LISTED:
        say(f"    and {len(findings) - _LISTED:,} more")
