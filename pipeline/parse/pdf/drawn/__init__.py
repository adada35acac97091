"""A PDF page as it is drawn: which of its text is seen, and which pictures on it show text."""
