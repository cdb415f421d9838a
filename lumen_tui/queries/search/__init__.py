"""Full-text search over everything that was recorded. The index may be thrown away and is built again."""
