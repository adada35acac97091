"""What the product does, by the name under which the rules refer to it."""

from collections.abc import Mapping

from jobs.controls.base import Measure
from jobs.controls.measures import keeping, log, machine, people, rows

MEASURES: Mapping[str, Measure] = {
    **log.MEASURES,
    **rows.MEASURES,
    **people.MEASURES,
    **keeping.MEASURES,
    **machine.MEASURES,
}
