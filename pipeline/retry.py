"""Failed documents taken up again, from where they lie in failed/."""

from collections.abc import Collection

from pipeline.errors import Failure
from pipeline.history import History
from pipeline.intake import Again


def again(history: History, classes: Collection[Failure]) -> tuple[Again, ...]:
    """The documents of the job whose last row is a failure of one of `classes`, by path.

    Those that could not be read when they came still lie in the input folder, where the next run finds them.
    """
    found = [
        (path, Again(before.raw, before.size, document, before.parent))
        for document, places in history.failed.items()
        for path, before in places.items()
        if before.failure in classes
    ]
    return tuple(source for _, source in sorted(found, key=lambda one: one[0]))
