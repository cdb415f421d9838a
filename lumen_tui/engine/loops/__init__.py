"""The main agent's loops: the briefing before, the session, the packet and its commit after."""
