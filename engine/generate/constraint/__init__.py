"""What an answer must be: a text of a list, a pattern, a schema; and grammars of these."""
