"""What the documents of each job took, and how good its forecasts were.

Seconds are those of the documents' entries. Older versions did not write them, and then tokens stand for them: what
they are worth says the time of their run. A kind is the extension of a file and its size to a factor of two; what an
archive or a mail brings counts as the archive's.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pipeline.records.types import Document, Record, RunFinished, RunStarted
from pipeline.states import State

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
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def halve(self) -> None:
        """Let what came before count half."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) / 2)


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


Machine = tuple[str, int]
"""The sha256 of a model file, and a number of threads: costs of others are no guide."""

_RUNS: Final = 30  # that are remembered of a machine, and forecasts of a job
_MACHINES: Final = 8
_PER_TOKEN: Final = 0.001  # stands for the seconds of a token where a row says none


class Held(NamedTuple):
    """A forecast and what came true: documents and seconds."""

    expected_documents: int
    documents: int
    expected_seconds: float
    seconds: float


@dataclass
class JobCosts:
    """A job's costs: the time that its documents took, by machine, the last one last; and how good its
    forecasts were."""

    machines: dict[Machine, Costs] = field(default_factory=dict)
    held: list[Held] = field(default_factory=list)
    last: Machine = ("", 0)  # that made a row
    said: float = 0.0  # by the rows of the run
    tokens: int = 0  # of them
    makers: set[str] = field(default_factory=set)  # the workers of those with tokens; "" is the machine of the log
    brought: dict[str, Sum] = field(default_factory=dict)  # container -> what came out of it; its own row comes last

    def take(self, entry: Record) -> None:
        """Take in the next entry of this job, of any type."""
        match entry:
            case Document() if not (entry.is_decided or entry.closed):
                self._take_row(entry)
            case RunStarted():
                self.said, self.tokens, self.brought, self.last = 0.0, 0, {}, ("", 0)
            case RunFinished():
                self._take_end(entry)

    def _take_row(self, entry: Document) -> None:
        tokens = entry.tokens or 0
        seconds = tokens * _PER_TOKEN if entry.seconds is None else entry.seconds
        self.said += seconds
        if tokens:
            if not self.tokens:
                self.makers = set()  # until now they were those of an earlier run
            self.makers.add(entry.worker.worker if entry.worker else "")
        self.tokens += tokens
        self.last = (entry.model_sha256, int(entry.engine.get("threads", 0)))
        its = Sum(1.0, float(entry.size), 1.0, float(tokens), seconds)
        its.add(self.brought.pop(entry.document or "", Sum()))
        if entry.parent is not None:
            its.files = its.bytes = 0.0
            self.brought.setdefault(entry.parent, Sum()).add(its)
        elif entry.unread is None:
            self._of(self.last).add(kind_of(entry.path, entry.size), its)

    def _take_end(self, entry: RunFinished) -> None:
        if self.said > 0 and self.last in self.machines:
            ready = min(entry.ready_seconds or 0.0, entry.seconds)
            costs = self.machines[self.last]
            machines = self.hands if self.tokens else 1
            costs.runs = [*costs.runs, Ran(ready, entry.seconds - ready, self.said, self.tokens, machines)][-_RUNS:]
        if entry.forecast is not None and not entry.interrupted:
            done = entry.seen - entry.counts[State.IGNORED] - entry.counts[State.PENDING]
            held = Held(entry.forecast.documents, done, entry.forecast.seconds, entry.seconds)
            self.held = [*self.held, held][-_RUNS:]

    @property
    def hands(self) -> int:
        """The machines that made the rows of the last run that had any to compute."""
        return len(self.makers) or 1

    def _of(self, machine: Machine) -> Costs:
        costs = self.machines.pop(machine, None) or Costs()
        self.machines[machine] = costs  # now the last one
        for oldest in [*self.machines][:-_MACHINES]:
            del self.machines[oldest]
        return costs

    def of(self, model_sha256: str | None, threads: int) -> tuple[int, Costs] | None:
        """The costs with this model and, if there were runs with as many, this number of threads, else those of the
        last run with the model; with the number of threads that they are of. None where nothing is known."""
        found = [(its, costs) for (model, its), costs in self.machines.items() if model == model_sha256 and costs.runs]
        return next((each for each in found if each[0] == threads), found[-1] if found else None)


@dataclass
class AllCosts:
    """The costs of every job, by its name."""

    jobs: dict[str, JobCosts] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        if isinstance(entry, Document | RunStarted | RunFinished):
            self.jobs.setdefault(entry.job, JobCosts()).take(entry)


@dataclass
class MetFiles:
    """The paths of documents that some jobs have met with the settings of their last run: job -> paths. A job that
    leaves documents where they are does not take them again."""

    jobs: dict[str, set[str]]
    _digests: dict[str, str] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        if entry.job not in self.jobs:
            return
        if isinstance(entry, RunStarted) and self._digests.get(entry.job) != entry.job_digest:
            self._digests[entry.job] = entry.job_digest
            self.jobs[entry.job] = set()
        elif isinstance(entry, Document) and entry.parent is None and entry.document and not entry.is_decided:
            self.jobs[entry.job].add(entry.path)
