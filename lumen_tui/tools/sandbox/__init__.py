"""The walls around what a worker runs: bubblewrap, else Landlock, else a person's word for every command."""
