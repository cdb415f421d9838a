"""The engine: its log, problems of the state folder, and what is asked about pausing and leaving."""
