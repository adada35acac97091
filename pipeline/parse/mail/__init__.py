"""What mails are made of: parts (MIME), their encodings, and signed envelopes (CMS)."""
