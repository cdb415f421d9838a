"""One module for each noun of the command line: `declare` adds its commands to the parser."""
