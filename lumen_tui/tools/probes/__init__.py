"""Probes of facts: cheap looks at files, commands, ports and addresses, each with an end."""
