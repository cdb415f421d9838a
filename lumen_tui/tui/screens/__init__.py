"""Everything that opens over the room: forms, details, lists and questions. Each answers through `dismiss`."""
