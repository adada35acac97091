"""What files that wait are expected to hold and to take, by what files of their kind did. No file is read."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Final, NamedTuple

from pipeline.records.costs.kinds import Costs, Kind, Sum, kind_of

_ENOUGH: Final = 3  # files of a kind that are a guide
_LATELY: Final = 10  # runs that say how runs use their time


class File(NamedTuple):
    """A file that waits: its path below the input folder, and its bytes."""

    path: str
    size: int


class Expected(NamedTuple):
    """The rows that a file becomes, their tokens, and the seconds by which it makes a run longer."""

    documents: float
    tokens: float
    seconds: float


@dataclass
class Estimator:
    """Expects of a file what files of the same extension and size class were for each of their bytes; where there were
    too few of them, of the same extension, else all files of the job."""

    costs: Costs
    _extensions: dict[str, Sum] = field(default_factory=dict, init=False)
    _all: Sum = field(default_factory=Sum, init=False)

    def __post_init__(self) -> None:
        for kind, its in self.costs.kinds.items():
            self._extensions.setdefault(kind.extension, Sum()).add(its)
            self._all.add(its)
        runs = self.costs.runs[-_LATELY:]
        said = sum(run.said for run in runs)
        self._stretch = sum(run.worked for run in runs) / said if said else 1.0

    @property
    def ready_seconds(self) -> float:
        """The seconds until the documents of a run have their turn: the median of the last runs."""
        return median([run.ready for run in self.costs.runs[-_LATELY:]] or [0.0])

    def expect(self, file: File) -> Expected:
        """What is expected of a file."""
        its, size = self._guide(kind_of(*file)), max(file.size, 1)
        if not its.files:
            return Expected(1.0, 0.0, 0.0)
        share = size / max(its.bytes, 1.0)
        return Expected(its.rows / its.files, its.tokens * share, its.seconds * share * self._stretch)

    def expect_all(self, files: Iterable[File]) -> list[Expected]:
        """What is expected of each file."""
        return [self.expect(file) for file in files]

    def _guide(self, kind: Kind) -> Sum:
        for found in (self.costs.kinds.get(kind), self._extensions.get(kind.extension)):
            if found and found.files >= _ENOUGH:
                return found
        return self._all
