"""The one error of decisions that cannot be taken."""


class ReviewRefusedError(ValueError):
    """A decision that cannot be taken; the message is one sentence for the person who made it."""
