"""`--engine-only`: the engine without a room, its beats and events on stdout as text or JSON lines."""
