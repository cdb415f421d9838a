"""The list of everything that needs a person, answered where it is listed."""
