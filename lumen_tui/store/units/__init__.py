"""Work units, lanes, and the sessions in which they are worked on."""
