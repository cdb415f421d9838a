"""The commands, one module for each noun: its function `declare` adds them to the parser."""
