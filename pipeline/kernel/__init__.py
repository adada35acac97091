"""The filter of system calls that the kernel holds processes to: its instructions, and what is refused of networks."""
