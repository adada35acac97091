"""What files that wait are expected to hold and to take, by what files of their kind did. No file is read."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Final, NamedTuple

from pipeline.records.costs.kinds import Costs, Sum, kind_of

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
    """Expects of a file what files of the same extension and size were for each of their bytes. They count as far as
    they are many: what files of the extension were counts like one file more, and all files of the job like one of the
    extension. `machines` work on files at a time, each as fast as those of earlier runs."""

    costs: Costs
    machines: int = 1
    _extensions: dict[str, Sum] = field(default_factory=dict, init=False)
    _all: Sum = field(default_factory=Sum, init=False)

    def __post_init__(self) -> None:
        for kind, its in self.costs.kinds.items():
            self._extensions.setdefault(kind.extension, Sum()).add(its)
            self._all.add(its)
        runs = self.costs.runs[-_LATELY:]
        said = sum(run.said for run in runs)
        self._stretch = (sum(run.worked_by_each for run in runs) / said if said else 1.0) / self.machines

    @property
    def ready_seconds(self) -> float:
        """The seconds until the documents of a run have their turn: the median of the last runs."""
        return median([run.ready for run in self.costs.runs[-_LATELY:]] or [0.0])

    def expect(self, file: File) -> Expected:
        """What is expected of a file."""
        if not self._all.files:
            return Expected(1.0, 0.0, 0.0)
        kind, all_bytes = kind_of(*file), max(self._all.bytes, 1.0)
        tokens, seconds = self._all.tokens / all_bytes, self._all.seconds / all_bytes
        expected = _PerByte(self._all.rows / self._all.files, tokens, seconds)
        for its in (self._extensions.get(kind.extension), self.costs.kinds.get(kind)):
            expected = _drawn(expected, its)
        size = max(file.size, 1)
        return Expected(expected.documents, expected.tokens * size, expected.seconds * size * self._stretch)

    def expect_all(self, files: Iterable[File]) -> list[Expected]:
        """What is expected of each file."""
        return [self.expect(file) for file in files]


class _PerByte(NamedTuple):
    """The documents of a file, and the tokens and seconds of each of its bytes."""

    documents: float
    tokens: float
    seconds: float


def _drawn(wider: _PerByte, its: Sum | None) -> _PerByte:
    """What files were, with one file more that is as the wider kind was."""
    if not its or not its.files:
        return wider
    files, mean = its.files + 1, max(its.bytes / its.files, 1.0)
    return _PerByte(
        (its.rows + wider.documents) / files,
        (its.tokens + wider.tokens * mean) / (files * mean),
        (its.seconds + wider.seconds * mean) / (files * mean),
    )
