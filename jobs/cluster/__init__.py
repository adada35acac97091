"""Clusters as jobs, sites and commands speak of them: which one a run uses, and the processes of `cluster up`."""
