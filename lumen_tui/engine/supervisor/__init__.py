"""Workers supervised: dispatched, watched, restarted within limits, paused and killed."""
