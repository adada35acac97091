"""The child processes that parse, the server that forks them, and what they and their parent say to each other."""
