"""`cloister audit verify`: is the log whole, and do results and archive agree with it?"""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.cli.files import bad_key, read_key, read_note
from jobs.cli.options import JsonOption, WitnessOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.visible import one_line
from jobs.workspace import open_workspace

if TYPE_CHECKING:
    import audit
    import pipeline

_LISTED = 20


def verify(
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="KEY", help="Trust this verifier key, or the one in this file; else site.yaml's."
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="FILE", help="Prove that the log extends this kept or cosigned checkpoint."),
    ] = None,
    witness: WitnessOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Two verdicts. Integrity: every byte of the log. Completeness: results, archive and failed/ against its entries.

    Exit 4 if anything was altered or added; what was taken away since is told, but is no tampering.
    """
    import audit
    import pipeline
    from jobs.plan import make_site
    from jobs.progress import telling

    site = make_site(open_workspace(workspace))
    trusted = site.public_key if key is None else read_key(key)
    if witness and against is None:
        raise ConfigError(Problem("--witness", "a cosignature of no checkpoint", "with --against FILE"))
    kept = read_note(against, "a checkpoint of this log") if against else None
    witnesses = [read_key(each) for each in witness or ()]
    try:
        site = dataclasses.replace(site, public_key=_present(site.audit, trusted) if key else trusted)
        with telling("verifying") as tell:

            def progress(done: int, total: int) -> None:
                tell(done, total, _phase(done, total))

            verification = pipeline.verify(site, progress, against=kept, witnesses=witnesses)
    except audit.KeyRefused as error:
        if key is None and witness is None:
            raise
        raise bad_key("--witness" if key is None else "--key", error) from error
    _record(site, verification)
    code = ExitCode.DONE if verification.ok else ExitCode.AUDIT_FAILED
    if as_json:
        verdicts = {"ok": verification.ok, "complete": verification.complete}
        keys = {"trusted": trusted, "signed_by": site.public_key}
        print_json({**verdicts, **vars(verification), **keys, "exit_code": int(code)})
    else:
        _print(verification, site.origin)
        if against and not verification.integrity:
            say(f"  extends       the checkpoint in {against}")
        if trusted != site.public_key and not verification.integrity:
            _print_handovers(site, trusted)
    raise typer.Exit(int(code))


def _present(folder: Path, trusted: str) -> str:
    """The key that signs now, if `trusted` handed over to it; else `trusted`, of which the verification then tells."""
    import audit

    try:
        return audit.current_key(folder, trusted)
    except audit.LogUntrusted:
        return trusted


def _print_handovers(site: "pipeline.Site", trusted: str) -> None:
    """What an earlier key leaves open."""
    import audit

    chain = audit.rotations(site.audit, site.public_key)
    first = next(n for n, each in enumerate(chain) if each.old_key == trusted)
    for each in chain[first:]:
        say(f"  handed over   at entry {each.n:,} to {each.new_key}")
    say("                the key that was given vouches for the entries before; if it was ever stolen, for no others")


def _phase(done: int, total: int) -> str:
    return "entries of the log" if 2 * done < total else "results and archive"


def _record(site: "pipeline.Site", verification: "pipeline.Verification") -> None:
    """Nothing is appended to a log that is not whole."""
    from jobs.record import record, tell_not_recorded

    if verification.integrity:
        tell_not_recorded("the log cannot be trusted, and nothing is appended to it")
        return
    counts = {kind: len(getattr(verification, kind)) for kind in ("integrity", "altered", "added", "absent")}
    record(site, {"type": "verified", "size": verification.size, "root": verification.root.hex(), **counts})


def _print(verification: "pipeline.Verification", origin: str) -> None:
    _print_verdict(verification, origin)
    _print_findings("log", verification.integrity)
    _print_findings("altered", verification.altered)
    _print_findings("added", verification.added)
    _print_findings("absent (no tampering: the log proves that it was there)", verification.absent)
    for note in verification.notes:
        say(f"  note          {one_line(note)}")


def _print_verdict(verification: "pipeline.Verification", origin: str) -> None:
    """The worse of the two first. Results are held only against a log that is whole."""
    if verification.integrity:
        say(f"THE AUDIT LOG {origin} CANNOT BE TRUSTED. Results and archive were not held against it. First wrong:")
        return
    whole = f"whole: {verification.size:,} entries, every one under the signed checkpoint."
    if not verification.ok:
        say(f"RESULTS OR ARCHIVED DOCUMENTS DIFFER FROM THE AUDIT LOG {origin}. The log itself is {whole}")
    else:
        say(f"The audit log {origin} is {whole}")
    say(f"  integrity     whole, root {verification.root.hex()}")
    say(f"  completeness  {_completeness(verification)}")
    say("  checked       " + ", ".join(f"{what} {number:,}" for what, number in verification.checked.items()))


def _completeness(verification: "pipeline.Verification") -> str:
    """The second verdict in one line."""
    if verification.complete:
        return "all that the log proves is there, unchanged, and nothing else"
    kinds = {"altered": verification.altered, "added": verification.added, "absent": verification.absent}
    return ", ".join(f"{len(findings):,} {kind}" for kind, findings in kinds.items() if findings)


def _print_findings(what: str, findings: "tuple[audit.Finding, ...]") -> None:
    if findings:
        say(f"  {what}:")
    for finding in findings[:_LISTED]:
        say(f"    {one_line(finding.where)}: {one_line(finding.message)}")
    if len(findings) > _LISTED:
        say(f"    and {len(findings) - _LISTED:,} more")
