"""Work units, lanes, and the sessions of agents on them."""
