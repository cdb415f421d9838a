"""What happened on each work unit, in order of time. Its file may be thrown away and is built again."""
