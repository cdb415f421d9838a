"""What led to what, what happened while nobody looked, and the links between nodes, work units and tasks."""
