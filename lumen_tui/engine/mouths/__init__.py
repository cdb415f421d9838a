"""The mouths of an engine: what tells a person who has no room open, outside of the beat."""
