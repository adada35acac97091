"""`cloister audit controls`: what rules ask of records, and what this site does about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.files import write_given
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.load import did_you_mean
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.trust.controls import READ_BY_AN_ENGINEER, RULES, Answered, Clause, matrix, page, running_now
from jobs.trust.finding import Standing

RuleArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="RULE", help=f"Which rules: {', '.join(RULES)}; all of them if none is named."),
]
PageOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write an HTML page for people, which prints well.")
]


def controls(
    rules: RuleArgument = None, out: PageOption = None, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """Show what laws and standards ask of records, what the product does, and the evidence of this site.

    The evidence comes from site.yaml, the jobs and the log as they are now. It is an engineer's reading of the rules,
    and no legal advice. Nothing is verified by this: `audit verify` does that.
    """
    running = running_now(open_workspace(workspace))
    answered = matrix(running, [_known(name) for name in rules or RULES])
    if out:
        write_given(out, page(running, answered).encode())
    if as_json:
        print_json(
            {
                "made": running.now,
                "log": {"origin": running.site.origin, "size": running.log.size},
                "reading": READ_BY_AN_ENGINEER,
                "rules": [_to_json(rule) for rule in answered],
                "file": out,
            }
        )
    elif out:
        say(f"The matrix is in {out}.")
    else:
        for rule in answered:
            _print(rule)
        say("; ".join(f"{each.value}: {each.meaning}" for each in Standing) + ".")
        say(READ_BY_AN_ENGINEER)


def _known(name: str) -> str:
    if name not in RULES:
        raise ConfigError(Problem("RULE", f"no rule {name!r}", ", ".join(RULES), did_you_mean(name, list(RULES))))
    return name


def _to_json(rule: Answered) -> dict[str, object]:
    return {
        "name": rule.name,
        "title": rule.rule.title,
        "text": rule.rule.text,
        "left_out": rule.rule.left_out,
        "clauses": [
            {
                "clause": clause.control.clause,
                "asks": clause.control.asks,
                "site": clause.control.site,
                "measures": [
                    {
                        "name": line.name,
                        "does": line.measure.does,
                        "see": line.measure.see,
                        "standing": line.found.state.value,
                        "evidence": line.found.evidence,
                    }
                    for line in clause.lines
                ],
            }
            for clause in rule.clauses
        ],
    }


def _print(rule: Answered) -> None:
    say(rule.rule.title)
    say(f"  {rule.rule.text}")
    say(f"  Not here: {rule.rule.left_out}")
    say("  " + ", ".join(f"{rule.counts[each]} {each.value}" for each in Standing if rule.counts[each]))
    for clause in rule.clauses:
        _print_clause(clause)
    say()


def _print_clause(clause: Clause) -> None:
    say()
    say(f"  {clause.control.clause}: {clause.control.asks}")
    for line in clause.lines:
        say(f"    {line.found.state.value:<12}  {line.measure.does}")
        say(f"    {'':<12}  {line.found.evidence} ({line.measure.see})")
    say(f"    {'the site':<12}  {clause.control.site}")
