"""Whether a machine and a site can be trusted: checks, the proof of silence, and controls. See README.md."""
