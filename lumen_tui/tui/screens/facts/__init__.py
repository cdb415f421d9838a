"""Facts about the live system: how fresh each one is, and the form that adds a probe."""
