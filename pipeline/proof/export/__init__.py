"""A range of the log as a folder that whoever gets it can check without this program."""
