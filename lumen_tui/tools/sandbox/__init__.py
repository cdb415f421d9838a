"""The sandbox around a worker's commands: bubblewrap, else Landlock, else a person approves each command."""
