"""People look at rows and decide on them: the queue of rows, and decisions that become rows of their own."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.review.deciding import ReviewOutcome, reviews_refused, reviews_waiting, take_up_reviews
    from pipeline.review.examples import REVIEW, review_examples
    from pipeline.review.sampling import Standing, draw, new_seed, samples, standing
    from pipeline.review.seen import entry_of, job_of, row_of
    from pipeline.review.sheets import (
        REVIEWABLE,
        SHEETS,
        BadSheetError,
        Filled,
        format_csv,
        format_jsonl,
        parse_sheet,
        seen_digits,
    )

__getattr__, __dir__ = surface(__name__, __file__)
