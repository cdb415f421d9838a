"""The Model Context Protocol, spoken as a server: both generations of it over one set of handlers."""
