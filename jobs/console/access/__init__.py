"""Who may come in: people and their invites, passphrases, sessions, and what was refused."""
