"""The state by area: what a record means, and which files hold it."""
