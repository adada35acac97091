"""Roles of people, and what each of them may do."""

from collections.abc import Iterable
from enum import StrEnum


class Right(StrEnum):
    """A right that a page asks for."""

    LISTS = "lists"  # counts, nights, the queue; nothing of what stands in private documents
    DOCUMENTS = "documents"  # a document, its text and its answer
    DECIDE = "decide"  # accept, correct or reject a row
    OPERATE = "operate"  # run a job now, take failed documents up again
    LOG = "log"  # the log's entries, verify, export


class Role(StrEnum):
    """A role that people are invited to."""

    READER = "reader"
    REVIEWER = "reviewer"
    OPERATOR = "operator"
    AUDITOR = "auditor"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.READER: frozenset({Right.LISTS}),
    Role.REVIEWER: frozenset({Right.LISTS, Right.DOCUMENTS, Right.DECIDE}),
    Role.OPERATOR: frozenset({Right.LISTS, Right.OPERATE}),
    Role.AUDITOR: frozenset({Right.LISTS, Right.DOCUMENTS, Right.LOG}),
}

ALLOWS: dict[Right, str] = {
    Right.LISTS: "see lists and counts",
    Right.DOCUMENTS: "open documents",
    Right.DECIDE: "accept, correct or reject answers",
    Right.OPERATE: "start runs",
    Right.LOG: "read, verify and export the log",
}
"""Right -> what it allows, as the end of "may …"."""


def rights_of(roles: Iterable[Role]) -> frozenset[Right]:
    """Everything that somebody with all of these roles may do."""
    return frozenset[Right]().union(*(RIGHTS[role] for role in roles))


def roles_with(right: Right) -> list[Role]:
    """The roles that have this right, as they are told to somebody who lacks it."""
    return [role for role in Role if right in RIGHTS[role]]
