"""One task in a process of its own, from spec.json to exit.json."""
