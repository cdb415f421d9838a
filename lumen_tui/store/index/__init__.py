"""What may be thrown away and is made anew: the search index and the trail of work units."""
