"""Checks of the machine, which need no workspace; what a workspace asks of it is looked at where there is one."""
