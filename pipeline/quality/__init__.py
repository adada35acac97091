"""How good the answers of a job are, on documents whose answers are known: measured, reported, and demanded."""
