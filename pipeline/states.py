"""How a document can end, by a run or by a person; a run closes with seen = the sum over the states of runs."""

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
    REJECTED = "rejected"


ANSWERED = (State.DONE, State.ABSTAINED, State.REVIEW)
"""The states of a document that has an answer, be it that there is none."""
OF_RUNS = tuple(state for state in State if state != State.REJECTED)
"""The states in which runs leave documents; that an answer is rejected, only a person decides."""
