"""Compute what answers cost, from the price of an hour of this machine, and the prices of a million tokens elsewhere.

With p the price of an hour, d documents and t tokens an hour:

    cost of 1,000 documents       = 1,000 p / d
    cost of 1,000,000 tokens      = 1,000,000 p / t
    break-even, tokens a day      = 1,000,000 · 24 p / q        q: the price of a million tokens elsewhere

A machine that is paid day and night costs 24 p a day, whatever it does. From so many tokens a day on it is cheaper than
a service that takes q for a million. If they are more than the 24 t that it can do in a day, it never is.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Prices:
    """The price of an hour of this machine, and what a million tokens cost from a service and on a rented GPU; None:
    not asked for. All are in the same currency, which is not named."""

    hour: float
    api: float | None = None
    gpu: float | None = None


@dataclass(frozen=True)
class BreakEven:
    """The tokens and documents a day from which this machine is cheaper; `reached`: whether it can do so many."""

    tokens: float
    documents: float
    reached: bool


@dataclass(frozen=True)
class Costs:
    """The costs of 1,000 documents and 1,000,000 tokens, and the load from which on this machine is the cheaper one."""

    documents: float
    tokens: float
    api: BreakEven | None
    gpu: BreakEven | None


def costs(prices: Prices, documents_an_hour: float, tokens_an_hour: float) -> Costs:
    """The costs at this speed, which is more than 0."""
    per_document = tokens_an_hour / documents_an_hour

    def even(price: float | None) -> BreakEven | None:
        if not price:
            return None
        tokens = 1e6 * 24 * prices.hour / price
        return BreakEven(tokens, tokens / per_document, tokens <= 24 * tokens_an_hour)

    return Costs(
        documents=1e3 * prices.hour / documents_an_hour,
        tokens=1e6 * prices.hour / tokens_an_hour,
        api=even(prices.api),
        gpu=even(prices.gpu),
    )
