"""Where addresses lead: alias, stack objects."""
