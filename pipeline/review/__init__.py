"""People look at rows and decide on them: the queue of rows, and decisions that become rows of their own."""
