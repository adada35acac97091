"""A document as a person looks at it: its text and its pages beside its row, and where on them its evidence stands."""
