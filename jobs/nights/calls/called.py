"""The keys of `notify`: the command that is called when something happens, in job files and in site.yaml."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from jobs.section import Items, Section, Text, check_unique

Cause = Literal["success", "failure", "window_closed", "refused", "nothing_arrived", "unlike"]
SiteCause = Literal[Cause, "not_verified"]

_CAUSES = (
    "success: documents were answered and none failed; failure: some failed, or there was no run; window_closed: that "
    "was before all were done; refused: there was no run, for its model or a mistake in a file; nothing_arrived: a job "
    "with a schedule found nothing; unlike: this night is unlike those before"
)


class NotifyConfig(Section):
    """A command that is called when a run has ended, with what happened as JSON on its standard input."""

    command: Annotated[tuple[Text, ...], Items] = Field(
        min_length=1,
        description="the program and its arguments, one text each; no shell reads them, they start in the workspace, "
        "and they stand in the log: put no passwords there",
    )
    on: Annotated[tuple[Cause, ...], Items] = Field(
        ("failure", "unlike"), min_length=1, description=f"what it is called for: {_CAUSES}"
    )
    seconds: float = Field(60.0, gt=0, le=3600, description="after so many seconds it is killed, with all it started")

    @model_validator(mode="after")
    def _each_cause_once(self) -> Self:
        check_unique(self.on, str, lambda index: ("on", index), "cause")
        return self


class SiteNotifyConfig(NotifyConfig):
    """The command of a site, which is called for all of its jobs, and for the log."""

    on: Annotated[tuple[SiteCause, ...], Items] = Field(  # type: ignore[assignment]
        ("failure", "unlike", "not_verified"),
        min_length=1,
        description=f"what it is called for: {_CAUSES}; not_verified: the log was not verified for log.verify_days, "
        "told once a day",
    )
