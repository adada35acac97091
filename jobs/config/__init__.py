"""What jobs and sites say: strict YAML, its keys, plans, workspaces, and the schedules of jobs."""
