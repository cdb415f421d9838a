"""The six panes. Each renders its slice of the snapshot, reads no files and knows no other pane."""
