"""The verbs: one beat, tasks, supervision, the orchestrator, and every operator action. Knows no front end."""
