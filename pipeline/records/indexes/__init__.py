"""What is made anew when it is not there, in state/: indexes of the log for lists and counts, vectors of examples."""
