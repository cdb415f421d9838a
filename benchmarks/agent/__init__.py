"""What a main agent and its workers cost: reference stories on the local API server, with the vendor's real SDK."""
