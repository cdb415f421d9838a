"""The way out of a task's network: a proxy that reaches the hosts of an allow-list, and nothing else."""
