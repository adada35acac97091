"""What files of each kind held and took.

A kind is the extension of a file and its size to a factor of two. What an archive or a mail brings counts as the
archive's.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

_KINDS: Final = 512
_MANY: Final = 400  # files of a kind, from which on the earlier ones count half: documents change in a year


class Kind(NamedTuple):
    """The extension of a file, in lower case, and how many bits the number of its bytes has."""

    extension: str
    size: int


def kind_of(path: str, size: int) -> Kind:
    """The kind of a file by its name and size."""
    name = path.rpartition("/")[2]
    return Kind(name.rpartition(".")[2].lower() if "." in name else "", size.bit_length())


@dataclass(slots=True)
class Sum:
    """Files of one kind: how many, their bytes, the rows they became, and the tokens and seconds of these."""

    files: float = 0.0
    bytes: float = 0.0
    rows: float = 0.0
    tokens: float = 0.0
    seconds: float = 0.0

    def add(self, other: "Sum") -> None:
        """Add another sum."""
        self.files += other.files
        self.bytes += other.bytes
        self.rows += other.rows
        self.tokens += other.tokens
        self.seconds += other.seconds

    def halve(self) -> None:
        """Let what came before count half."""
        self.files, self.bytes, self.rows = self.files / 2, self.bytes / 2, self.rows / 2
        self.tokens, self.seconds = self.tokens / 2, self.seconds / 2


class Ran(NamedTuple):
    """How a run used its time: the seconds until its documents had their turn, those it worked on them, and the sum of
    what its documents say they took, which is more where they are read side by side; their tokens, and the machines
    that made its rows."""

    ready: float
    worked: float
    said: float
    tokens: int
    machines: int = 1

    @property
    def worked_by_each(self) -> float:
        """The seconds that its machines worked, added up."""
        return self.worked * self.machines


@dataclass
class Costs:
    """The costs of documents on machines of one kind: sums by kind of file, and how its runs used their time. `of_job`:
    the other job that they are of, where a job has none of its own."""

    kinds: dict[Kind, Sum] = field(default_factory=dict)
    runs: list[Ran] = field(default_factory=list)
    of_job: str | None = None

    @property
    def rows(self) -> int:
        """The documents that all of this rests on, of which old ones count half."""
        return round(sum(each.rows for each in self.kinds.values()))

    def add(self, kind: Kind, brought: Sum) -> None:
        """Take in a file with all that it held."""
        if kind not in self.kinds and len(self.kinds) >= _KINDS:
            kind = Kind("", kind.size)
        its = self.kinds.setdefault(kind, Sum())
        its.add(brought)
        if its.files > _MANY:
            its.halve()
