"""Failed documents taken up again, from where they lie in failed/."""

from collections.abc import Collection, Container

from pipeline.errors import Failure
from pipeline.inbox.intake import INSIDE, Again
from pipeline.records.history import History


def again(
    history: History, classes: Collection[Failure], left: Container[tuple[str, str]] = frozenset()
) -> tuple[Again, ...]:
    """The documents of the job whose last row is a failure of one of `classes`, by path, but for those in a container
    (sha256, path) of `left`.

    Those that were not read when they came still lie in the input folder (unread.py). A name that was refused would be
    refused again.
    """
    found = [
        (path, Again(before.raw, before.size, document, before.parent))
        for (document, path), before in history.failed.items()
        if before.failure in classes
        and before.failure != Failure.NAME_REFUSED
        and (before.parent, path.rpartition(INSIDE)[0]) not in left
    ]
    return tuple(source for _, source in sorted(found, key=lambda one: one[0]))
