"""`cloister console`: the page in the browser on which people see what came, check it and correct it. See README.md."""
