"""Probes of facts: cheap checks of files, commands, ports and addresses, each with a time limit."""
