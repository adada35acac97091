"""The pages of the console: a module for each concept, whose PAGES are in this table."""

from jobs.console.page import Page
from jobs.console.pages import document, home, job, log, models, queue, runs, sign, works

PAGES: tuple[Page, ...] = (
    *document.PAGES,
    *home.PAGES,
    *queue.PAGES,
    *job.PAGES,
    *runs.PAGES,
    *models.PAGES,
    *log.PAGES,
    *works.PAGES,
    *sign.PAGES,
)
