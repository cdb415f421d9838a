"""`make demo-data`: two weeks of work, really done, that a demo opens with."""
