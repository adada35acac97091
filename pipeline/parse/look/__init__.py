"""Which text a person sees: one rule for all formats, and the count of what nobody sees."""
