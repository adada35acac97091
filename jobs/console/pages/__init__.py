"""The pages of the console: a module for each concept, whose functions say which pages they answer."""

from jobs.console.page import PAGES
from jobs.console.pages import document, home, log, queue, runs, sign

__all__ = ["PAGES", "document", "home", "log", "queue", "runs", "sign"]
