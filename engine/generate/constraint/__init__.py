"""Constraints on answers (a text of a list, a pattern, a schema, any object) and the grammars that hold them."""
