"""The back end without a model: playbooks that make the calls a model would make."""
