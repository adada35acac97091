"""`cloister doctor`, whether this machine and a workspace are fit for a night; `cloister audit controls`, what rules
ask of records and what this site does about it."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from jobs.cli.options import argument, job_names, option, write_given, writing
from jobs.cli.printing import Answer, At
from jobs.config.load import did_you_mean
from jobs.config.workspace import Workspace
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.trust.controls import READ_BY_AN_ENGINEER, RULES, Answered, matrix, page, running_now
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
from jobs.trust.finding import Level, Standing
from jobs.trust.patient import find_patient
from jobs.trust.proof import Proof, prove
from jobs.visible import counted, one_line


def doctor(
    at: At,
    save: Annotated[
        Path | None, option("--save", "Keep what was found in this file, to compare with later.", "FILE")
    ] = None,
    against: Annotated[
        Path | None, option("--against", "Say what has changed since this file was saved.", "FILE")
    ] = None,
    egress: Annotated[
        bool, option("--egress", "Prove that nothing reaches for a network: run a job under a tracer.")
    ] = False,
    job: Annotated[
        str | None,
        option(
            "--job", "With --egress: run this job as it is; else one of the workspace's on documents of the proof.",
            "JOB", autocompletion=job_names,
        ),
    ] = None,
) -> Answer:  # fmt: skip
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
        return _silence(at.workspace, job, lambda line: at.tell(None, line))
    if job is not None:
        raise ConfigError(Problem("--job", "without --egress", "--egress --job JOB"))
    before = read_baseline(against) if against else None
    patient = find_patient(at.named)
    examined = list(examine(patient, CHECKS))
    now = baseline_of(examined, patient.stamp().time)
    changed = list(changes(before, now, CHECKS)) if before else []
    if save is not None:
        with writing(save):
            write_baseline(save, now)
    code = ExitCode.NEEDS_PERSON if Level.PROBLEM in now.levels.values() else ExitCode.DONE
    findings = [
        {"check": each.check, "level": said.state, "sentence": said.evidence, "remedy": said.remedy}
        for each in examined
        for said in [each.finding]
    ]
    told: dict[str, object] = {"workspace": patient.folder, "findings": findings, "figures": now.figures}
    told |= {"against": before.made_at, "changes": changed} if before else {}
    return Answer(told | {"exit_code": code}, _lines(patient.folder, examined, before, changed), code)


def _lines(
    folder: Path | None, examined: Sequence[Examined], before: Baseline | None, changed: Sequence[Change]
) -> Iterator[str]:
    if folder is None:
        yield "There is no workspace here, so only the machine is looked at (--workspace names one)."
    for each in examined:
        yield f"{each.finding.state:<8} {each.check:<11} {one_line(each.finding.evidence)}"
        if each.finding.remedy:
            yield f"{'':<20} remedy: {one_line(each.finding.remedy)}"
    counts = Counter(each.finding.state for each in examined)
    told = [f"{counts[Level.OK]} ok", *(counted(counts[level], level) for level in (Level.WARNING, Level.PROBLEM))]
    yield ", ".join(told)
    if before is not None:
        yield f"\nSince {before.made_at[:19]}Z {'' if changed else 'nothing has changed.'}".rstrip()
        yield from (f"changed  {each.check:<11} {one_line(each.sentence)}" for each in changed)


def _silence(workspace: Workspace, job: str | None, say: Callable[[str], None]) -> Answer:
    """Run a job under a tracer that counts connect, bind, sendto, sendmsg and questions to resolvers of names, where
    there is no route."""
    proof = prove(workspace, job, say)
    code = ExitCode.DONE if proof.finding.state is Level.OK else ExitCode.DEFECT
    commands = [
        {
            "command": each.name, "exit_code": each.trace.code, "looked": each.trace.looked,
            "sockets": each.trace.sockets, "rings": each.trace.rings, "refused": each.refused,
            "answered": each.answered,
        }
        for each in proof.ran
    ]  # fmt: skip
    outside = [{"command": name, **asdict(seen), "count": count} for name, seen, count in proof.outside]
    told = {"caught": proof.caught, "without_route": proof.isolated, "commands": commands, "outside": outside}
    return Answer(told | {"exit_code": code}, _proof_lines(proof), code)


def _proof_lines(proof: Proof) -> Iterator[str]:
    for name, seen, count in proof.outside:
        yield f"{name}: {seen.program} (process {seen.pid}): {seen.call} to {seen.address}, {count:,} times"
    for each in proof.ran:
        for attempt in each.refused:
            yield f"{each.name}: {attempt}, which its guard refused before the kernel was asked"
    yield proof.finding.evidence


def controls(
    at: At,
    rules: Annotated[
        list[str] | None, argument("RULE", f"Which rules: {', '.join(RULES)}; all of them if none is named.")
    ] = None,
    out: Annotated[Path | None, option("--out -o", "Write an HTML page for people, which prints well.", "FILE")] = None,
) -> Answer:
    """Show what laws and standards ask of records, what the product does, and the evidence of this site.

    The evidence comes from site.yaml, the jobs and the log as they are now. It is an engineer's reading of the rules,
    and no legal advice. Nothing is verified by this: `audit verify` does that.
    """
    running = running_now(at.workspace)
    for name in rules or ():
        if name not in RULES:
            raise ConfigError(Problem("RULE", f"no rule {name!r}", ", ".join(RULES), did_you_mean(name, list(RULES))))
    answered = matrix(running, rules or list(RULES))
    write_given(out, page(running, answered).encode() if out else b"")
    log = {"origin": running.site.origin, "size": running.log.size}
    told = {"made": running.now, "log": log, "reading": READ_BY_AN_ENGINEER, "rules": list(map(_rule, answered))}
    return Answer(told | {"file": out}, [f"The matrix is in {out}."] if out else _rule_lines(answered))


def _rule(rule: Answered) -> dict[str, Any]:
    clauses = [
        {
            "clause": clause.control.clause,
            "asks": clause.control.asks,
            "site": clause.control.site,
            "measures": [
                {
                    "name": line.name, "does": line.measure.does, "see": line.measure.see,
                    "standing": line.found.state.value, "evidence": line.found.evidence,
                }
                for line in clause.lines
            ],
        }
        for clause in rule.clauses
    ]  # fmt: skip
    own = {"name": rule.name, "title": rule.rule.title, "text": rule.rule.text, "left_out": rule.rule.left_out}
    return {**own, "clauses": clauses}


def _rule_lines(answered: Sequence[Answered]) -> Iterator[str]:
    for rule in answered:
        yield rule.rule.title
        yield f"  {rule.rule.text}"
        yield f"  Not here: {rule.rule.left_out}"
        yield "  " + ", ".join(f"{rule.counts[each]} {each.value}" for each in Standing if rule.counts[each])
        for clause in rule.clauses:
            yield ""
            yield f"  {clause.control.clause}: {clause.control.asks}"
            for line in clause.lines:
                yield f"    {line.found.state.value:<12}  {line.measure.does}"
                yield f"    {'':<12}  {line.found.evidence} ({line.measure.see})"
            yield f"    {'the site':<12}  {clause.control.site}"
        yield ""
    yield "; ".join(f"{each.value}: {each.meaning}" for each in Standing) + "."
    yield READ_BY_AN_ENGINEER
