"""Records of what people decide on rows: with which key they sign, what they decided, and what was refused."""

from dataclasses import dataclass

from pipeline.records.types.base import Record, kind
from pipeline.records.types.values import Text

ACCEPTED, CORRECTED, REJECTED = "accepted", "corrected", "rejected"
ACTIONS = (ACCEPTED, CORRECTED, REJECTED)
"""What a person can decide on a row that was seen."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A person's decision on a row, as its signed request said it (records/requests.py).

    `action` is one of ACTIONS, `by` who decided it, `reason` why (None where nothing was said), `at` when. `of` is the
    entry of the row that was seen, and `seen` the sha256 of its result. `answer_sha256` is that of what was to be
    changed (None where nothing was). `id` names the request, `key` the key that signed it, `signature` is in base64.
    """

    action: str
    by: str
    reason: str | None
    of: int
    seen: str
    answer_sha256: str | None
    at: str
    id: str
    key: str
    signature: str


@kind("reviewer_key.admitted", "decisions of people on rows are signed by this key from now on", command=True)
class ReviewerKeyAdmitted(Record):
    """The public key; the one that was admitted before signs nothing any more."""

    public_key: Text


@kind("review.refused", "a request in state/review/ to decide on a row was refused")
class ReviewRefused(Record):
    """The name and owner of the file, why it was refused, and the name under which it is kept; the entry of the row
    that it is about and who made it, where an admitted key signed that (None otherwise)."""

    file: str
    owner: str
    reason: str
    kept: str
    of: int | None
    by: str | None
