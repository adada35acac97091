"""The refusal of a request."""


class RefusedError(Exception):
    """A request that is refused with a status and a sentence; `recorded`: what the log says of it, if anything."""

    def __init__(self, status: int, told: str, recorded: str | None = None) -> None:
        super().__init__(told)
        self.status, self.told, self.recorded = status, told, recorded
