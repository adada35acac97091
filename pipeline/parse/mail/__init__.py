"""The structure of mails: parts (MIME), their encodings, and signed envelopes (CMS)."""
