"""The story of a document in words: what happened to it, when, and by whom, from the log."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pipeline

_DID = {"accepted": "accepted the answer", "corrected": "corrected the answer", "rejected": "rejected the answer"}


@dataclass(frozen=True)
class Told:
    """An entry of the log in words: `what` happened, and `facts` with their names."""

    n: int
    time: str
    who: str
    what: str
    facts: tuple[tuple[str, str], ...] = ()
    is_row: bool = False


def tell(story: pipeline.Story, answers: Mapping[int, str]) -> Iterator[Told]:
    """Tell each entry of a story; `answers` has the short answers of rows, by their entries."""
    for entry in story.entries:
        if isinstance(entry, pipeline.Document):
            yield _row(entry, answers.get(entry.n, ""), entry.part in story.placed)
        else:
            what = pipeline.meaning(entry.type) or f"{entry.type}, which this version does not know"
            yield Told(entry.n, entry.time, _who(entry), what, tuple(pipeline.members_in_words(entry.said)))


def _row(entry: pipeline.Document, answer: str, placed: bool) -> Told:
    review = entry.said.get("review")
    gone = entry.replaces if entry.replaces is not None else (entry.supersedes,) if entry.supersedes is not None else ()
    facts = [
        ("path", entry.path),
        ("answer", answer),
        ("reason", (review or {}).get("reason") or entry.reason or ""),
        ("took the place of", ", ".join(f"entry {number}" for number in gone)),
        ("model", f"{entry.model}, sha256 {entry.model_sha256}"),
        ("settings", f"job digest {entry.job_digest}"),
        ("read by", entry.parser or ""),
        ("result", f"sha256 {entry.result_sha256}"),
        ("row", f"{entry.row} of {entry.part}" + ("" if placed else " (not yet in place: the next run ends that)")),
        ("files", ", ".join(made.file for made in entry.made_files)),
    ]
    if review:
        what = f"{review.get('by')} {_DID.get(str(review.get('action')), 'decided')} of entry {review.get('of')}"
    else:
        what = f"{entry.job} made its row: {entry.state}" + (f" ({entry.failure})" if entry.failure else "")
    return Told(entry.n, entry.time, _who(entry), what, tuple(fact for fact in facts if fact[1]), is_row=True)


def _who(entry: pipeline.Record) -> str:
    made = entry.handed
    told = f"{entry.user} on {entry.host}"
    if made:
        told = f"{made.user} on {made.host}, taken up later"
    return f"{told}, run {entry.run}" if entry.run else told
