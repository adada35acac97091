"""How long documents and results are kept: retention, holds, erasure."""
