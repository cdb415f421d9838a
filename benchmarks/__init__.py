"""What the program costs, measured on this machine, each figure beside its goal and a comparison of the same run."""
