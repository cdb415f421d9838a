"""A worker's question: the page about it, its risk, and how it is answered."""
