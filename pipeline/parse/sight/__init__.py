"""Tell which text a person sees: one rule for all formats, and the count of the text that nobody sees."""
