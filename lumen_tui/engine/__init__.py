"""The engine: beats, task supervision, loops and learning. It knows no front end."""
