"""`cloister review reject`: a person says that a row shall have no answer."""

from __future__ import annotations

from jobs.cli.decided import AsOption, ReasonOption, RowArgument, decide
from jobs.cli.options import JsonOption, WorkspaceOption


def reject(
    row: RowArgument,
    by: AsOption,
    reason: ReasonOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reject the answer of a row: none of the job's answers is right for the document.

    A row without an answer takes its place, in state rejected, with who rejected it; the log has an entry of it. While
    a run holds the log, the decision is signed and waits for it. Exit 2 where the row is no longer the one that holds.
    """
    decide(row, "rejected", by, reason, None, workspace, as_json)
