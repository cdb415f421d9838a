"""The doctor: looks through a whole state folder, names what is wrong, and mends what can be mended."""
