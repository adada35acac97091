"""The stages of one run, one file each: open, find, begin, answer, close. Each gives a frozen value to the next."""
