"""A run on many machines: what reads and answers its documents is taken over by a crew."""

import contextlib
from collections.abc import Iterator
from typing import Final

from pipeline.answer.compute import Embedding
from pipeline.answer.converse import Conversing
from pipeline.cluster.answering import AnswerThere
from pipeline.cluster.commission import commission
from pipeline.cluster.crew import Crew
from pipeline.cluster.peers import HEAD_ROLE, read_credential
from pipeline.cluster.quiet import keep_quiet, without_pickles
from pipeline.cluster.reading import ReadThere
from pipeline.inbox.reader import ReadHere
from pipeline.parse import Tesseract
from pipeline.plan import Cluster, RunPlan
from pipeline.report import Observer

READERS: Final = 1024
"""Documents that the head has read at a time, at most, by all workers together; each has a thread that waits for it."""


@contextlib.contextmanager
def crewed(
    plan: RunPlan,
    cluster: Cluster,
    model_sha256: str,
    reading: ReadHere,
    answers: Embedding | Conversing,
    tesseract: Tesseract | None,
    observer: Observer,
) -> Iterator[tuple[ReadThere, AnswerThere]]:
    """What reads and answers on the workers of the cluster, and here where there is none. ClusterError where there is
    no such cluster, or the credential is none for it: before any document is touched."""
    keep_quiet()
    without_pickles()
    told = commission(plan, model_sha256, tesseract.describe() if tesseract else None)
    paths = [plan.model.path, *([plan.model.head.path] if plan.model.head else [])]
    credential = read_credential(cluster.credential, HEAD_ROLE)
    files = {sha256: path for (sha256, _), path in zip(told.files, paths, strict=True)}
    with Crew(cluster.scheduler, credential, told, files, cluster.begin) as crew:
        yield ReadThere(crew, reading, plan.site.limits), AnswerThere(crew, answers, observer.note)
