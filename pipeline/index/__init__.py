"""One index of the log, in state/, which can be deleted and made again: days, runs, models, and the rows for lists."""
