"""The HTTP API: the operations of the catalogue as REST, events as they come, health and metrics."""
