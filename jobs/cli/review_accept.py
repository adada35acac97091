"""`cloister review accept`: a person says that the answer of a row is right."""

from __future__ import annotations

from jobs.cli.decided import AsOption, ReasonOption, RowArgument, decide
from jobs.cli.options import JsonOption, WorkspaceOption


def accept(
    row: RowArgument,
    by: AsOption,
    reason: ReasonOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Accept the answer of a row as it is.

    A row with the same answer takes its place, in state done, with who accepted it; the log has an entry of it. While a
    run holds the log, the decision is signed and waits for it. Exit 2 where the row is no longer the one that holds.
    """
    decide(row, "accepted", by, reason, None, workspace, as_json)
