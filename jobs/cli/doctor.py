"""`cloister doctor`: whether this machine and a workspace are fit for a night, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.cli.files import unwritable
from jobs.cli.options import JsonOption, WorkspaceOption, job_names
from jobs.cli.output import print_json, say
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.trust.doctor import (
    CHECKS,
    Baseline,
    Change,
    Examined,
    baseline_of,
    changes,
    examine,
    read_baseline,
    write_baseline,
)
from jobs.trust.finding import Level
from jobs.trust.patient import find_patient
from jobs.visible import counted, one_line

SaveOption = Annotated[
    Path | None,
    typer.Option("--save", metavar="FILE", help="Keep what was found in this file, to compare with later."),
]
AgainstOption = Annotated[
    Path | None,
    typer.Option("--against", metavar="FILE", help="Say what has changed since this file was saved."),
]

EgressOption = Annotated[
    bool, typer.Option("--egress", help="Prove that nothing reaches for a network: run a job under a tracer.")
]
JobOption = Annotated[
    str | None,
    typer.Option(
        "--job",
        metavar="JOB",
        help="With --egress: run this job as it is; else one of the workspace's on documents of the proof.",
        autocompletion=job_names,
        show_default=False,
    ),
]


def doctor(
    save: SaveOption = None,
    against: AgainstOption = None,
    egress: EgressOption = False,
    job: JobOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at this machine, and at a workspace if there is one: is it fit for a night?

    Each line is ok, a warning or a problem, with the remedy. To measure the disk, some blocks are written beside the
    log and removed. Exit 7 if there is a problem, else 0, whatever has changed since a baseline.

    With --egress it proves instead that a job reaches for no network, nor anything that it starts: one of the
    workspace, with its model, in a workspace for the proof alone, on documents that ask for a network. It runs under a
    tracer, where there is no route. First the tracer proves itself, by calls on purpose. Exit 0: no call led out of
    this machine; 70: one did, a defect of ours unless it was a command of `notify`; 2: it cannot be proved here.
    """
    if egress:
        if save is not None or against is not None:
            found = "with --egress, which keeps and compares nothing"
            raise ConfigError(Problem("--save and --against", found, "either of them, or --egress"))
        from jobs.cli.doctor_egress import prove_silence  # which loads what only a proof needs

        prove_silence(open_workspace(workspace), job, as_json)
    if job is not None:
        raise ConfigError(Problem("--job", "without --egress", "--egress --job JOB"))
    before = read_baseline(against) if against else None
    patient = find_patient(workspace)
    examined = list(examine(patient, CHECKS))
    now = baseline_of(examined, patient.stamp().time)
    changed = list(changes(before, now, CHECKS)) if before else []
    if save is not None:
        _save(save, now)
    code = ExitCode.NEEDS_PERSON if Level.PROBLEM in now.levels.values() else ExitCode.DONE
    if as_json:
        print_json(_to_json(patient.folder, examined, now, before, changed) | {"exit_code": int(code)})
    else:
        _print(patient.folder, examined)
        if before is not None:
            _print_changes(before, changed)
    raise typer.Exit(int(code))


def _save(path: Path, now: Baseline) -> None:
    try:
        write_baseline(path, now)
    except OSError as error:
        raise unwritable(path, error) from error


def _to_json(
    folder: Path | None, examined: Sequence[Examined], now: Baseline, before: Baseline | None, changed: Sequence[Change]
) -> dict[str, Any]:
    findings = [
        {"check": each.check, "level": each.finding.state, "sentence": each.finding.evidence,
         "remedy": each.finding.remedy}
        for each in examined
    ]  # fmt: skip
    told = {"workspace": folder, "findings": findings, "figures": now.figures}
    return told | ({"against": before.made_at, "changes": changed} if before else {})


def _print(folder: Path | None, examined: Sequence[Examined]) -> None:
    if folder is None:
        say("There is no workspace here, so only the machine is looked at (--workspace names one).")
    for each in examined:
        say(f"{each.finding.state:<8} {each.check:<11} {one_line(each.finding.evidence)}")
        if each.finding.remedy:
            say(f"{'':<20} remedy: {one_line(each.finding.remedy)}")
    counts = Counter(each.finding.state for each in examined)
    told = [f"{counts[Level.OK]} ok", *(counted(counts[level], level) for level in (Level.WARNING, Level.PROBLEM))]
    say(", ".join(told))


def _print_changes(before: Baseline, changed: Sequence[Change]) -> None:
    say(f"\nSince {before.made_at[:19]}Z {'' if changed else 'nothing has changed.'}".rstrip())
    for each in changed:
        say(f"changed  {each.check:<11} {one_line(each.sentence)}")
