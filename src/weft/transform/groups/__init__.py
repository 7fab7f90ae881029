"""Work-groups: ids as parameters, guards as bounds, rows and lane groups."""
