"""The structure of mails: MIME parts, their encodings, and signed envelopes (CMS)."""
