"""What led to what: the links between nodes, work units and tasks."""
