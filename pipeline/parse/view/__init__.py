"""Pages as they look, for a person who checks an answer: their pixels, and where on them a piece of the text stands."""
