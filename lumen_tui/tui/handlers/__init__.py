"""What the commands do, one module for each pane they belong to."""
