"""Pictures of text in a document: decoded, given to text recognition, and what was recognised on them."""
