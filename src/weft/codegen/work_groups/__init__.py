"""Work-groups as loops over lane groups, from barrier to barrier, and the entry point that runs groups."""
