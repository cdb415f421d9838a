"""Tasks: one in full with its events and result, and the forms for a new one and a retry."""
