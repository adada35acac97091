"""How a document can end; a run closes with seen = the sum over all of them."""

from enum import StrEnum


class State(StrEnum):
    """The value stands in the result table, in the log and in the counts of a run."""

    DONE = "done"
    ABSTAINED = "abstained"
    REVIEW = "review"
    FAILED = "failed"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"
    PENDING = "pending"


ANSWERED = (State.DONE, State.ABSTAINED, State.REVIEW)
"""The states of a document that has an answer, be it that there is none."""
